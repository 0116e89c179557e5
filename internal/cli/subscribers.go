package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/wire"
)

// subscriberCommands are the commands about the address book.
type subscriberCommands struct{ *command }

func (c subscriberCommands) subscribers() *cobra.Command {
	return group("subscribers", "The address book: where push channels reach users and roles",
		c.list(), c.show(), c.set(), c.remove())
}

func (c subscriberCommands) list() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:     "list",
		Short:   "List the address book",
		Example: "  tallyman subscribers list",
		Args:    cobra.NoArgs,
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

func (c subscriberCommands) show() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:     "show SUBSCRIBER",
		Short:   "Show an entry of the address book",
		Example: "  tallyman subscribers show user:ann",
		Args:    takes("SUBSCRIBER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return show(cmd.Context(), c.command, http.MethodGet, subscriberPath(args[0]), nil, func(w io.Writer, s *wire.SubscriberForm) {
				writeSubscriber(w, s)
			})
		},
	})
}

func (c subscriberCommands) set() *cobra.Command {
	var fields wire.SubscriberFields
	var channels map[string]string
	cmd := c.withServer(&cobra.Command{
		Use:   "set SUBSCRIBER",
		Short: "Add an entry to the address book, or change the fields that the flags name",
		Long: `Add an entry to the address book, or change the fields that the flags name; other fields stay as they are. --mail names all addresses; --mail ""
removes them. --tag names all tags. --channel names one address by its channel, and --channel jpush= removes that address.
A role is a subscriber of its own: a mail to a role goes to the addresses of the role.`,
		Example: `  tallyman subscribers set user:ann --name "Ann Lee" --language zh --mail ann@example.com
  tallyman subscribers set role:keeper --mail keepers@example.com --mail "Night shift <night@example.com>"
  tallyman subscribers set user:ann --phone +8613800000000 --tag night-shift --channel jpush=170976fa8ab9e6a2b1f`,
		Args: takes("SUBSCRIBER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !anyFlag(cmd, "name", "language", "mail", "phone", "alias", "tag", "channel") {
				return usage("%s needs --name, --language, --mail, --phone, --alias, --tag or --channel", cmd.CommandPath())
			}
			changed := cmd.Flags().Changed
			s, err := c.client().setSubscriber(cmd.Context(), args[0], func(known *wire.SubscriberFields) {
				if changed("name") {
					known.Name = fields.Name
				}
				if changed("language") {
					known.Language = fields.Language
				}
				if changed("mail") {
					known.Mail = withoutEmpty(fields.Mail)
				}
				if changed("phone") {
					known.Phone = fields.Phone
				}
				if changed("alias") {
					known.Alias = fields.Alias
				}
				if changed("tag") {
					known.Tags = withoutEmpty(fields.Tags)
				}
				setChannels(known, channels)
			})
			if err != nil {
				return err
			}
			return c.print(s, func(w io.Writer) { writeSubscriber(w, &s) })
		},
	})
	cmd.Flags().StringVar(&fields.Name, "name", "", "the name of the person or role")
	cmd.Flags().StringVar(&fields.Language, "language", "", "the language of the texts that push channels send, such as zh")
	cmd.Flags().StringArrayVar(&fields.Mail, "mail", nil, "ann@example.com or 'Ann Lee <ann@example.com>'; may be repeated")
	cmd.Flags().StringVar(&fields.Phone, "phone", "", "in the form that the gateway wants, such as +8613800000000")
	cmd.Flags().StringVar(&fields.Alias, "alias", "", "the name in other systems")
	cmd.Flags().StringArrayVar(&fields.Tags, "tag", nil, "a group of other systems; may be repeated")
	cmd.Flags().StringToStringVar(&channels, "channel", nil, "an address in another channel, as jpush=170976fa8ab9e6a2b1f; may be repeated")
	return cmd
}

func withoutEmpty(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == "" })
}

// setChannels sets the named addresses. An empty address removes the entry.
func setChannels(known *wire.SubscriberFields, channels map[string]string) {
	if known.Channels == nil {
		known.Channels = wire.ChannelsForm{}
	}
	maps.Copy(known.Channels, channels)
	maps.DeleteFunc(known.Channels, func(_, address string) bool { return address == "" })
}

func (c subscriberCommands) remove() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:     "remove SUBSCRIBER",
		Short:   "Remove an entry of the address book; the subscriptions stay",
		Example: "  tallyman subscribers remove user:ann",
		Args:    takes("SUBSCRIBER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.client().do(cmd.Context(), http.MethodDelete, subscriberPath(args[0]), nil, nil); err != nil {
				return err
			}
			return c.print(map[string]string{"removed": args[0]}, func(w io.Writer) { fmt.Fprintln(w, "Removed.") })
		},
	})
}

func subscriberPath(id string) string { return "/subscribers/" + url.PathEscape(id) }

// listSubscribers requests all pages of subscribers.
func (c *client) listSubscribers(ctx context.Context) ([]wire.SubscriberForm, error) {
	all := []wire.SubscriberForm{}
	err := pages(ctx, c, "/subscribers", url.Values{}, func(page *wire.SubscribersForm) string {
		all = append(all, page.Subscribers...)
		return page.Cursor
	})
	return all, err
}

// setSubscriber reads the entry of a subscriber, changes it and writes it. A missing entry begins empty.
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
	fields := [][2]string{{"name", s.Name}, {"language", s.Language}, {"mail", strings.Join(s.Mail, ", ")}}
	for _, f := range [][2]string{{"phone", s.Phone}, {"alias", s.Alias}, {"tags", strings.Join(s.Tags, ", ")}} {
		if f[1] != "" {
			fields = append(fields, f)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Channels)) {
		fields = append(fields, [2]string{name, s.Channels[name]})
	}
	for _, f := range fields {
		fmt.Fprintf(w, "  %-8s  %s\n", f[0], orDash(f[1]))
	}
}
