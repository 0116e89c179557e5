package cli

import (
	"context"
	"encoding/json"
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
	"tallyman/rules/strictyaml"
)

// noticeCommands are the commands about notices.
type noticeCommands struct{ *command }

func (c noticeCommands) notices() *cobra.Command {
	return group("notices", "See and send notices, and mark notices as read or acked",
		c.list(), c.tail(), c.send(), c.mark("read", "Read", "Mark a notice as read by a user", "unless: read"),
		c.mark("ack", "Acked", "Mark a notice as acked by a user, and as read, too", "unless: read or unless: acked"),
		c.readAll())
}

// reader has the subscribers and the warehouse of a request about an inbox. For an empty field the server takes the
// values of the token.
type reader struct {
	warehouse   string
	subscribers []string
}

func (r *reader) add(cmd *cobra.Command, subscribers string) {
	cmd.Flags().StringVar(&r.warehouse, "warehouse", "", "whose inboxes (default: the token's warehouse, if it has one)")
	cmd.Flags().StringArrayVar(&r.subscribers, "subscriber", nil, subscribers+"; may be repeated (default: those of the token)")
}

func (r *reader) query() url.Values {
	q := queryOf(map[string]string{"warehouse": r.warehouse})
	if len(r.subscribers) > 0 {
		q["subscriber"] = r.subscribers
	}
	return q
}

// mark makes the command that marks notices as read or acked for a user.
func (c noticeCommands) mark(verb, done, short, needless string) *cobra.Command {
	var r reader
	cmd := c.withServer(&cobra.Command{
		Use:   verb + " ID",
		Short: short,
		Long: short + `. Name the user and the roles of the user, unless the token names them. At least one of them must be a recipient.

Waiting deliveries of the notice with ` + needless + ` are canceled. To repeat the command changes nothing.`,
		Example: "  tallyman notices " + verb + " n_4s5jl2 --warehouse 119240 --subscriber user:ann --subscriber role:keeper",
		Args:    takes("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := withQuery("/notices/"+url.PathEscape(args[0])+"/"+verb, r.query())
			if err := c.client().do(cmd.Context(), http.MethodPost, path, nil, nil); err != nil {
				return err
			}
			return c.print(map[string]string{strings.ToLower(done): args[0]}, func(w io.Writer) { fmt.Fprintln(w, done+".") })
		},
	})
	r.add(cmd, "user:<id>, once, and role:<id>")
	return cmd
}

func (c noticeCommands) readAll() *cobra.Command {
	var r reader
	var upTo string
	cmd := c.withServer(&cobra.Command{
		Use:   "read-all",
		Short: "Mark all notices in the inboxes of a user as read",
		Long: `Mark all notices as read that are in the inboxes of a user now, or were there when a page with the cursor --up-to was polled.

Waiting deliveries of these notices with unless: read are canceled. Modal notices stay open until they are acked. To repeat the command changes nothing.`,
		Example: "  tallyman notices read-all --warehouse 119240 --subscriber user:ann --subscriber role:keeper",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl := c.client()
			if upTo == "" {
				var err error
				if upTo, err = cl.cursorNow(cmd.Context(), &r); err != nil {
					return err
				}
			}
			body := wire.ReadAllForm{Warehouse: r.warehouse, UpTo: upTo, Subscribers: r.subscribers}
			if err := cl.do(cmd.Context(), http.MethodPost, "/notices/read-all", body, nil); err != nil {
				return err
			}
			return c.print(map[string]string{"readUpTo": upTo}, func(w io.Writer) { fmt.Fprintln(w, "All read.") })
		},
	})
	r.add(cmd, "user:<id>, once, and role:<id>")
	cmd.Flags().StringVar(&upTo, "up-to", "", "a cursor (default: where the inboxes are now)")
	return cmd
}

// farAway is a time in the far future, in ms since 1970. A poll from this time returns no notices.
const farAway = "9007199254740"

// cursorNow polls a page without notices. cursorNow returns the cursor of the page, which is the current end of the
// inboxes.
func (c *client) cursorNow(ctx context.Context, r *reader) (string, error) {
	q := r.query()
	q.Set("since", farAway)
	var pg struct{ Cursor string }
	_, err := c.ask(ctx, http.MethodGet, "/notices?"+q.Encode(), nil, &pg)
	return pg.Cursor, err
}

// pollFlags are the flags that select the notices of a poll.
type pollFlags struct {
	reader

	types  []string
	since  string
	unread bool
}

func (f *pollFlags) add(cmd *cobra.Command) {
	f.reader.add(cmd, "user:<id> or role:<id>")
	cmd.Flags().StringArrayVar(&f.types, "type", nil, "only of this type; may be repeated")
	cmd.Flags().StringVar(&f.since, "since", "", "delivered since: a span such as 2h, or a time such as 2026-06-01T08:00:00Z")
}

// query returns the query of a poll.
func (f *pollFlags) query(now time.Time) (url.Values, error) {
	query := f.reader.query()
	query.Set("limit", "200")
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

// sinceTime parses a duration before now, or a time.
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

// noticePage is a page of notices. Each notice stays as the server has sent it.
type noticePage struct {
	Notices []json.RawMessage `json:"notices"`
	Cursor  string            `json:"cursor"`
	More    bool              `json:"more"`
	Reset   bool              `json:"reset"`
	Reason  string            `json:"resetReason"`
	Missed  *int              `json:"missed"` // nil = unknown
}

// noticeLine has the members of a notice that its line shows.
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
	_ = json.Unmarshal(raw, &n) // A member of another kind stays empty here. The output -o json has it.
	return n
}

// state returns whether the user has read or acked the notice.
func (n *noticeLine) state() string {
	switch {
	case n.Acked:
		return "acked"
	case n.Read:
		return "read"
	}
	return "new"
}

func (c noticeCommands) list() *cobra.Command {
	var flags pollFlags
	var limit int
	cmd := c.withServer(&cobra.Command{
		Use:   "list",
		Short: "List the notices of subscribers in a warehouse, as a client sees them, the oldest first",
		Long: `List the notices of subscribers in a warehouse, as a client sees them, in the order of delivery. The list goes back 3 days;
--limit shows the latest notices only.`,
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
	cmd.Flags().BoolVar(&flags.unread, "unread", false, "only notices that the user has not read")
	cmd.Flags().IntVar(&limit, "limit", 0, "only the latest notices, this many; 0 = all")
	return cmd
}

// window calls each for every notice from the start of the query until now. window returns the cursor after the last
// notice.
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
