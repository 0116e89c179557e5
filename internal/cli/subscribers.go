package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/wire"
)

func (c *command) subscribers() *cobra.Command {
	return group("subscribers", "The address book: where push channels reach users and roles",
		c.subscribersList(), c.subscribersShow(), c.subscribersSet(), c.subscribersRemove())
}

func (c *command) subscribersList() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:   "list",
		Short: "List the address book",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := c.client().listSubscribers(cmd.Context())
			if err != nil {
				return err
			}
			return c.print(wire.SubscribersForm{Subscribers: list}, func(w io.Writer) {
				if len(list) == 0 {
					fmt.Fprintln(w, "The address book is empty.")
					return
				}
				header := []string{"SUBSCRIBER", "MAIL", "LANGUAGE", "NAME"}
				rows := make([][]string, len(list))
				for i := range list {
					s := &list[i]
					rows[i] = []string{s.ID, orDash(strings.Join(s.Mail, ", ")), orDash(s.Language), orDash(s.Name)}
				}
				terminal.Spread(w, c.width(), header, rows, header[:1])
			})
		},
	})
}

func (c *command) subscribersShow() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:   "show SUBSCRIBER",
		Short: "Show an entry of the address book",
		Args:  takes("SUBSCRIBER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var s wire.SubscriberForm
			raw, err := c.client().ask(cmd.Context(), http.MethodGet, subscriberPath(args[0]), nil, &s)
			if err != nil {
				return err
			}
			return c.print(raw, func(w io.Writer) { writeSubscriber(w, &s) })
		},
	})
}

func (c *command) subscribersSet() *cobra.Command {
	var fields wire.SubscriberFields
	cmd := c.withServer(&cobra.Command{
		Use:   "set SUBSCRIBER",
		Short: "Add an entry to the address book, or change what the flags name",
		Long: `Add an entry to the address book, or change what the flags name; the rest stays as it is. --mail names all the addresses; --mail "" takes them away.
A role is a subscriber of its own: a mail to it goes to the addresses of the role.`,
		Example: `  tallyman subscribers set user:ann --name "Ann Lee" --language zh --mail ann@example.com
  tallyman subscribers set role:keeper --mail keepers@example.com --mail "Night shift <night@example.com>"`,
		Args: takes("SUBSCRIBER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !anyFlag(cmd, "name", "language", "mail") {
				return usage("%s needs --name, --language or --mail", cmd.CommandPath())
			}
			s, err := c.client().setSubscriber(cmd.Context(), args[0], func(known *wire.SubscriberFields) {
				if cmd.Flags().Changed("name") {
					known.Name = fields.Name
				}
				if cmd.Flags().Changed("language") {
					known.Language = fields.Language
				}
				if cmd.Flags().Changed("mail") {
					known.Mail = withoutEmpty(fields.Mail)
				}
			})
			if err != nil {
				return err
			}
			return c.print(s, func(w io.Writer) { writeSubscriber(w, &s) })
		},
	})
	cmd.Flags().StringVar(&fields.Name, "name", "", "of the person or role")
	cmd.Flags().StringVar(&fields.Language, "language", "", "of the texts that are pushed to it, such as zh")
	cmd.Flags().StringArrayVar(&fields.Mail, "mail", nil, "ann@example.com or 'Ann Lee <ann@example.com>'; may be repeated")
	return cmd
}

func (c *command) subscribersRemove() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:   "remove SUBSCRIBER",
		Short: "Remove an entry of the address book; the subscriptions stay",
		Args:  takes("SUBSCRIBER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.client().do(cmd.Context(), http.MethodDelete, subscriberPath(args[0]), nil, nil); err != nil {
				return err
			}
			return c.print(map[string]string{"removed": args[0]}, func(w io.Writer) { fmt.Fprintln(w, "Removed.") })
		},
	})
}

func subscriberPath(id string) string { return "/subscribers/" + url.PathEscape(id) }

// listSubscribers asks for every page.
func (c *client) listSubscribers(ctx context.Context) ([]wire.SubscriberForm, error) {
	all := []wire.SubscriberForm{}
	query := url.Values{"limit": {"1000"}}
	for {
		var page wire.SubscribersForm
		if err := c.do(ctx, http.MethodGet, "/subscribers?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Subscribers...)
		if page.Cursor == "" {
			return all, nil
		}
		query.Set("after", page.Cursor)
	}
}

// setSubscriber puts the entry back with the change; one that is not there begins empty.
func (c *client) setSubscriber(ctx context.Context, id string, change func(*wire.SubscriberFields)) (wire.SubscriberForm, error) {
	var s wire.SubscriberForm
	if err := c.do(ctx, http.MethodGet, subscriberPath(id), nil, &s); err != nil && !hasCode(err, wire.CodeSubscriberNotFound) {
		return s, err
	}
	change(&s.SubscriberFields)
	err := c.do(ctx, http.MethodPut, subscriberPath(id), s.SubscriberFields, &s)
	return s, err
}

func writeSubscriber(w io.Writer, s *wire.SubscriberForm) {
	fmt.Fprintln(w, s.ID)
	for _, f := range [][2]string{{"name", s.Name}, {"language", s.Language}, {"mail", strings.Join(s.Mail, ", ")}} {
		fmt.Fprintf(w, "  %-8s  %s\n", f[0], orDash(f[1]))
	}
}

func withoutEmpty(list []string) []string {
	var out []string
	for _, s := range list {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}
