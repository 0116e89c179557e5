package cli

import (
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"tallyman/internal/wire"
)

// clockCommands are the commands about the ledger's clock.
type clockCommands struct{ *command }

func (c clockCommands) clock() *cobra.Command {
	return group("clock", "The clock of the ledger, which all nodes use", c.show(), c.confirm())
}

func (c clockCommands) show() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:     "show",
		Short:   "Show the state of the ledger's clock",
		Example: "  tallyman clock show",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd.Context(), c.command, http.MethodGet, "/clock", nil, writeClock)
		},
	})
}

func (c clockCommands) confirm() *cobra.Command {
	var ask wire.ConfirmClockForm
	cmd := c.withServer(&cobra.Command{
		Use:   "confirm",
		Short: "Confirm that the ledger's clock is right after it jumped ahead",
		Long: `Confirm that the ledger's clock is right after the clock jumped ahead by more than an hour while nodes ran.

Until the confirmation nodes use the time before the jump. Nothing expires and nothing is pruned by the new time. Look at the clock of the ledger's server first
(date -u). If that clock is wrong, set it right and do not confirm: the nodes notice by themselves. After a confirmation expired notices expire at
once, and missed firings run as catch_up of each rule says.`,
		Example: `  tallyman clock confirm --reason "the time service was down since Friday"`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd.Context(), c.command, http.MethodPost, "/clock/confirm", &ask, writeClock)
		},
	})
	cmd.Flags().StringVar(&ask.Reason, "reason", "", "why, for the audit record")
	return cmd
}

// writeClock writes the state of the clock.
func writeClock(w io.Writer, form *wire.ClockForm) {
	fmt.Fprintf(w, "Nodes go by %s.\n", stamp(form.Now))
	if text := clockTerm(form); text != "" {
		fmt.Fprintln(w, text)
	}
	if form.AheadSecs > 0 {
		fmt.Fprintf(w, "The ledger's clock is %s ahead of that%s, which nobody has confirmed.\n", span(form.AheadSecs), since(form.AheadSince))
	}
}

// clockTerm returns when the clock went back. clockTerm is empty if the clock never went back.
func clockTerm(form *wire.ClockForm) string {
	if form == nil || form.Term == 0 {
		return ""
	}
	return fmt.Sprintf("Clock term %d%s: the ledger's clock went back by %s.", form.Term, since(form.Began), span(form.BackSecs))
}
