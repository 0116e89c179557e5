package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/rules/strictyaml"
)

// pollFlags say whose notices are asked for.
type pollFlags struct {
	warehouse   string
	subscribers []string
	types       []string
	since       string
	unread      bool
}

func (f *pollFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.warehouse, "warehouse", "", "whose inboxes (default: the token's warehouse, if it has one)")
	cmd.Flags().StringArrayVar(&f.subscribers, "subscriber", nil, "user:<id> or role:<id>; may be repeated (default: those of the token)")
	cmd.Flags().StringArrayVar(&f.types, "type", nil, "only of this type; may be repeated")
	cmd.Flags().StringVar(&f.since, "since", "", "delivered since: a span such as 2h, or a time such as 2026-06-01T08:00:00Z")
}

// query is a poll's.
func (f *pollFlags) query(now time.Time) (url.Values, error) {
	query := url.Values{"limit": {"200"}}
	if f.warehouse != "" {
		query.Set("warehouse", f.warehouse)
	}
	if len(f.subscribers) > 0 {
		query["subscriber"] = f.subscribers
	}
	if len(f.types) > 0 {
		query["type"] = f.types
	}
	if f.unread {
		query.Set("unread", "true")
	}
	if f.since != "" {
		since, err := sinceTime(f.since, now)
		if err != nil {
			return nil, err
		}
		query.Set("since", strconv.FormatInt(since.UnixMilli(), 10))
	}
	return query, nil
}

// sinceTime reads a span or a time.
func sinceTime(text string, now time.Time) (time.Time, error) {
	if span, err := strictyaml.ParseDuration(text); err == nil && span >= 0 {
		return now.Add(-span), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.UnixMilli() <= 0 {
		return t, usage("--since takes a span such as 2h, or a time such as 2026-06-01T08:00:00Z, not %q", text)
	}
	return t, nil
}

// noticePage is a page of notices as the server gave them.
type noticePage struct {
	Notices []json.RawMessage `json:"notices"`
	Cursor  string            `json:"cursor"`
	More    bool              `json:"more"`
	Reset   bool              `json:"reset"`
	Reason  string            `json:"resetReason"`
	Missed  *int              `json:"missed"` // nil = not known
}

// noticeLine is what a line of a notice shows.
type noticeLine struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	Warehouse string    `json:"warehouse"`
	Status    string    `json:"status"`
	Priority  int       `json:"priority"`
	Title     string    `json:"title"`
	CreatedAt time.Time `json:"createdAt"`
	Read      bool      `json:"read"`
	Acked     bool      `json:"acked"`
}

func lineOf(raw json.RawMessage) noticeLine {
	var n noticeLine
	_ = json.Unmarshal(raw, &n) // what is of another kind stays empty; -o json has it
	return n
}

// state is what the user has done with it.
func (n *noticeLine) state() string {
	switch {
	case n.Acked:
		return "acked"
	case n.Read:
		return "read"
	}
	return "new"
}

func (c *command) noticesList() *cobra.Command {
	var flags pollFlags
	var limit int
	cmd := c.withServer(&cobra.Command{
		Use:   "list",
		Short: "List the notices of subscribers in a warehouse, as a client sees them, the oldest first",
		Long: `List the notices of subscribers in a warehouse, as a client sees them, in the order of delivery. Those of the last 3 days are in reach;
with --limit the latest of them are listed.`,
		Example: "  tallyman notices list --warehouse 119240 --subscriber user:ann --subscriber role:keeper --since 2h",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return usage("--limit must not be negative")
			}
			query, err := flags.query(time.Now())
			if err != nil {
				return err
			}
			list := []json.RawMessage{}
			if _, err := c.client().window(cmd.Context(), query, func(n json.RawMessage) {
				if list = append(list, n); limit > 0 && len(list) > limit {
					list = list[1:]
				}
			}); err != nil {
				return err
			}
			return c.print(map[string][]json.RawMessage{"notices": list}, func(w io.Writer) { writeNotices(w, c.width(), list) })
		},
	})
	flags.add(cmd)
	cmd.Flags().BoolVar(&flags.unread, "unread", false, "only those that the user has not read")
	cmd.Flags().IntVar(&limit, "limit", 0, "only the latest ones, this many; 0 = all")
	return cmd
}

// window gives each notice from the start of the query to now, and returns the cursor behind them.
func (c *client) window(ctx context.Context, query url.Values, each func(json.RawMessage)) (cursor string, err error) {
	for {
		var page noticePage
		if err := c.do(ctx, http.MethodGet, withQuery("/notices", query), nil, &page); err != nil {
			return "", err
		}
		for _, n := range page.Notices {
			each(n)
		}
		query.Del("since")
		query.Set("after", page.Cursor)
		if !page.More {
			return page.Cursor, nil
		}
	}
}

func writeNotices(w io.Writer, width int, list []json.RawMessage) {
	if len(list) == 0 {
		fmt.Fprintln(w, "No notices.")
		return
	}
	rows := make([][]string, len(list))
	for i, raw := range list {
		n := lineOf(raw)
		rows[i] = []string{n.ID, stamp(n.CreatedAt), n.Title, n.Status, n.state(), strconv.Itoa(n.Priority), n.Type}
	}
	terminal.Spread(w, width, []string{"NOTICE", "MADE", "TITLE", "STATUS", "STATE", "PRIORITY", "TYPE"}, rows, []string{"NOTICE", "MADE"})
}
