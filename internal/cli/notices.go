package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
)

func (c *command) notices() *cobra.Command {
	return group("notices", "Notices of a running server: send them, and say that a user has read or acked one",
		c.noticesSend(), c.noticesMark("read", "Read", "A user has read a notice", "unless: read"),
		c.noticesMark("ack", "Acked", "A user has acked a notice, which is to have read it, too", "unless: read or unless: acked"))
}

// noticesMark makes the command that records a mark of a user.
func (c *command) noticesMark(verb, done, short, needless string) *cobra.Command {
	var warehouse string
	var subscribers []string
	cmd := c.withServer(&cobra.Command{
		Use:   verb + " ID",
		Short: short,
		Long: short + `. Name the user and the roles that it has: one of them at least is a recipient.

Waiting deliveries of the notice with ` + needless + ` are canceled. To repeat it changes nothing.`,
		Example: "  tallyman notices " + verb + " n_4s5jl2 --warehouse 119240 --subscriber user:ann --subscriber role:keeper",
		Args:    takes("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case warehouse == "":
				return usage("%s needs --warehouse", cmd.CommandPath())
			case len(subscribers) == 0:
				return usage("%s needs --subscriber user:<id>, and the user's roles where the notice is for one of them", cmd.CommandPath())
			}
			if err := c.client().mark(cmd.Context(), args[0], verb, warehouse, subscribers); err != nil {
				return err
			}
			return c.print(map[string]string{strings.ToLower(done): args[0]}, func(w io.Writer) { fmt.Fprintln(w, done+".") })
		},
	})
	cmd.Flags().StringVar(&warehouse, "warehouse", "", "whose inbox has it")
	cmd.Flags().StringArrayVar(&subscribers, "subscriber", nil, "user:<id>, once, and role:<id>; may be repeated")
	return cmd
}

func (c *client) mark(ctx context.Context, id, verb, warehouse string, subscribers []string) error {
	query := url.Values{"warehouse": {warehouse}, "subscriber": subscribers}
	return c.do(ctx, http.MethodPost, "/notices/"+url.PathEscape(id)+"/"+verb+"?"+query.Encode(), nil, nil)
}
