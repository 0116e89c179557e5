package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/wire"
)

// findCommands has the command that searches for a text.
type findCommands struct{ *command }

func (c findCommands) find() *cobra.Command {
	var warehouses []string
	cmd := c.withServer(&cobra.Command{
		Use:   "find TEXT",
		Short: "Find notices, open findings and items by a bin, a SKU or an order",
		Long: `Find notices, open findings and items that contain a text, as you write the text or in capitals: 20 of each at most.

The search looks at the latest 20,000 notices, and for a second at findings and items. A finding whose whole key is the text is always found, and so
are items whose dedupe key is the text.`,
		Example: `  tallyman find A-01-03
  tallyman find SO-20077 --warehouse 119240`,
		Args: takes("TEXT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			query := url.Values{"q": args, "warehouse": warehouses}
			return show(cmd.Context(), c.command, http.MethodGet, withQuery("/find", query), nil, func(w io.Writer, found *wire.FoundForm) {
				writeFound(w, c.width(), found, time.Now())
			})
		},
	})
	cmd.Flags().StringArrayVar(&warehouses, "warehouse", nil, "only of this warehouse; may be repeated")
	return cmd
}

// writeFound writes a table for each kind of result. writeFound leaves out kinds without a result.
func writeFound(w io.Writer, width int, found *wire.FoundForm, now time.Time) {
	if len(found.Notices)+len(found.Findings)+len(found.Items) == 0 {
		fmt.Fprintln(w, "Nothing contains this text.")
	}
	age := func(at time.Time) string { return until(now, at) }
	table := func(header []string, rows [][]string) {
		if len(rows) > 0 {
			terminal.Spread(w, width, header, rows, []string{"NOTICE IS", "FINDING IS", "ITEM IS", "KEY", "AGE", "NOTICE", "ITEM"})
		}
	}
	var notices, findings, items [][]string
	for i := range found.Notices {
		n := &found.Notices[i]
		notices = append(notices, []string{n.Status, strconv.Itoa(n.Priority), n.Title, n.Warehouse, age(n.CreatedAt), n.ID})
	}
	for i := range found.Findings {
		f := &found.Findings[i]
		findings = append(findings, []string{f.State, f.Rule, f.Key, f.Scope, age(f.Since), f.NoticeID})
	}
	for i := range found.Items {
		it := &found.Items[i]
		items = append(items, []string{it.State, strconv.Itoa(it.Priority), it.Queue, it.Key, it.Warehouse, age(it.CreatedAt), it.ID})
	}
	table([]string{"NOTICE IS", "PRIORITY", "TITLE", "WAREHOUSE", "AGE", "NOTICE"}, notices)
	table([]string{"FINDING IS", "RULE", "KEY", "SCOPE", "AGE", "NOTICE"}, findings)
	table([]string{"ITEM IS", "PRIORITY", "QUEUE", "KEY", "WAREHOUSE", "AGE", "ITEM"}, items)
	if len(found.More) > 0 {
		fmt.Fprintf(w, "There may be more %s.\n", strings.Join(found.More, ", "))
	}
}
