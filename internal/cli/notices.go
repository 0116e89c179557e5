package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/internal/wire"
)

func (c *command) notices() *cobra.Command {
	return group("notices", "See and send notices, and say that a user has read or acked them",
		c.noticesList(), c.noticesTail(), c.noticesSend(), c.noticesMark("read", "Read", "A user has read a notice", "unless: read"),
		c.noticesMark("ack", "Acked", "A user has acked a notice, which is to have read it, too", "unless: read or unless: acked"),
		c.noticesReadAll())
}

// reader is who reads, and where; what is left out is the token's.
type reader struct {
	warehouse   string
	subscribers []string
}

func (r *reader) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.warehouse, "warehouse", "", "whose inboxes (default: the token's warehouse, if it has one)")
	cmd.Flags().StringArrayVar(&r.subscribers, "subscriber", nil, "user:<id>, once, and role:<id>; may be repeated (default: those of the token)")
}

func (r *reader) query() url.Values {
	q := url.Values{}
	if r.warehouse != "" {
		q.Set("warehouse", r.warehouse)
	}
	if len(r.subscribers) > 0 {
		q["subscriber"] = r.subscribers
	}
	return q
}

// noticesMark makes the command that records a mark of a user.
func (c *command) noticesMark(verb, done, short, needless string) *cobra.Command {
	var r reader
	cmd := c.withServer(&cobra.Command{
		Use:   verb + " ID",
		Short: short,
		Long: short + `. Name the user and the roles that it has, unless the token does: one of them at least is a recipient.

Waiting deliveries of the notice with ` + needless + ` are canceled. To repeat it changes nothing.`,
		Example: "  tallyman notices " + verb + " n_4s5jl2 --warehouse 119240 --subscriber user:ann --subscriber role:keeper",
		Args:    takes("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := strings.TrimSuffix("/notices/"+url.PathEscape(args[0])+"/"+verb+"?"+r.query().Encode(), "?")
			if err := c.client().do(cmd.Context(), http.MethodPost, path, nil, nil); err != nil {
				return err
			}
			return c.print(map[string]string{strings.ToLower(done): args[0]}, func(w io.Writer) { fmt.Fprintln(w, done+".") })
		},
	})
	r.flags(cmd)
	return cmd
}

func (c *command) noticesReadAll() *cobra.Command {
	var r reader
	var upTo string
	cmd := c.withServer(&cobra.Command{
		Use:   "read-all",
		Short: "A user has read everything in its inboxes",
		Long: `A user has read everything that is in its inboxes now, or was when a page with the cursor --up-to was polled.

Waiting deliveries of those notices with unless: read are canceled. Modal notices stay open until they are acked. To repeat it changes nothing.`,
		Example: "  tallyman notices read-all --warehouse 119240 --subscriber user:ann --subscriber role:keeper",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client := c.client()
			if upTo == "" {
				var err error
				if upTo, err = client.cursorNow(cmd.Context(), &r); err != nil {
					return err
				}
			}
			body := wire.ReadAllForm{Warehouse: r.warehouse, UpTo: upTo, Subscribers: r.subscribers}
			if err := client.do(cmd.Context(), http.MethodPost, "/notices/read-all", body, nil); err != nil {
				return err
			}
			return c.print(map[string]string{"readUpTo": upTo}, func(w io.Writer) { fmt.Fprintln(w, "All read.") })
		},
	})
	r.flags(cmd)
	cmd.Flags().StringVar(&upTo, "up-to", "", "a cursor (default: where the inboxes are now)")
	return cmd
}

// farAway is a time, in ms since 1970, since which nothing was delivered.
const farAway = "9007199254740"

// cursorNow polls for a page without notices, whose cursor is where the inboxes are.
func (c *client) cursorNow(ctx context.Context, r *reader) (string, error) {
	q := r.query()
	q.Set("since", farAway)
	var pg struct{ Cursor string }
	_, err := c.ask(ctx, http.MethodGet, "/notices?"+q.Encode(), nil, &pg)
	return pg.Cursor, err
}
