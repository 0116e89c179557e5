package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

// subscriptionCommands are the commands about subscriptions.
type subscriptionCommands struct{ *command }

func (c subscriptionCommands) subscriptions() *cobra.Command {
	return group("subscriptions", "Who gets which notices",
		c.list(), c.add(), c.remove(), c.importFile(), c.origins(), c.confirm(), c.release())
}

// mostWarnings is how many warnings a table shows.
const mostWarnings = 20

func (c subscriptionCommands) list() *cobra.Command {
	var filter ledger.Subscription
	cmd := c.withServer(&cobra.Command{
		Use:   "list",
		Short: "List subscriptions",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			subs, warnings, err := c.client().listSubscriptions(cmd.Context(), filter)
			if err != nil {
				return err
			}
			return c.print(subscriptionPage{Subscriptions: subs, Warnings: warnings}, func(w io.Writer) {
				if len(subs) == 0 {
					fmt.Fprintln(w, "There are no such subscriptions.")
					return
				}
				header := []string{"TYPE", "WAREHOUSE", "SUBSCRIBER"}
				if slices.ContainsFunc(subs, func(s ledger.Subscription) bool { return s.Origin != "" }) {
					header = append(header, "ORIGIN")
				}
				rows := make([][]string, len(subs))
				for i, s := range subs {
					rows[i] = []string{s.Type, s.Warehouse, s.Subscriber, orDash(s.Origin)}[:len(header)]
				}
				terminal.Spread(w, c.width(), header, rows, nil)
				for _, warning := range warnings[:min(mostWarnings, len(warnings))] {
					terminal.Wrap(w, c.width(), "warning: ", terminal.OneLine(warning))
				}
				if rest := len(warnings) - mostWarnings; rest > 0 {
					fmt.Fprintf(w, "%s; -o json has all of them\n", count(rest, "more warning"))
				}
			})
		},
	})
	cmd.Flags().StringVar(&filter.Type, "type", "", "only of this type")
	cmd.Flags().StringVar(&filter.Warehouse, "warehouse", "", "only of this warehouse; * are those of all warehouses")
	cmd.Flags().StringVar(&filter.Subscriber, "subscriber", "", "only of this subscriber")
	return cmd
}

// changeForm is the answer of a command that changes subscriptions.
type changeForm struct {
	Added   int `json:"added"`
	Present int `json:"present"` // those that were there already
}

func (c subscriptionCommands) add() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:     "add TYPE WAREHOUSE SUBSCRIBER",
		Short:   "Subscribe user:<id> or role:<id> to a type in a warehouse, or in all with '*'",
		Example: "  tallyman subscriptions add REP_NOTICE '*' role:keeper",
		Args:    takes("TYPE", "WAREHOUSE", "SUBSCRIBER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			form, err := c.client().importSubscriptions(cmd.Context(), []ledger.Subscription{subscription(args)})
			if err != nil {
				return err
			}
			return c.print(form, func(w io.Writer) {
				if form.Added > 0 {
					fmt.Fprintln(w, "Added.")
				} else {
					fmt.Fprintln(w, "It was there already.")
				}
			})
		},
	})
}

func (c subscriptionCommands) remove() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:   "remove TYPE WAREHOUSE SUBSCRIBER",
		Short: "Remove a subscription",
		Args:  takes("TYPE", "WAREHOUSE", "SUBSCRIBER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s := subscription(args)
			if err := c.client().removeSubscription(cmd.Context(), s); err != nil {
				return err
			}
			return c.print(struct {
				Removed ledger.Subscription `json:"removed"`
			}{s}, func(w io.Writer) { fmt.Fprintln(w, "Removed.") })
		},
	})
}

func (c subscriptionCommands) importFile() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:   "import FILE",
		Short: "Add the subscriptions of a YAML or JSON file, all or none; - is standard input",
		Long: `Add the subscriptions of a YAML or JSON file, all or none; - is standard input. Those that are there already are left alone. Those that have an
origin are left out: the source lists them.

The file is a list, or a map that has one as subscriptions, as the configuration has:

  - {type: REP_NOTICE, warehouse: "*", subscriber: "role:keeper"}`,
		Args: takes("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			subs, err := c.readSubscriptions(args[0])
			if err != nil {
				return err
			}
			form, err := c.client().importSubscriptions(cmd.Context(), subs)
			if err != nil {
				return err
			}
			return c.print(form, func(w io.Writer) {
				fmt.Fprintf(w, "Added %d; already there: %d.\n", form.Added, form.Present)
			})
		},
	})
}

func subscription(args []string) ledger.Subscription {
	return ledger.Subscription{Type: args[0], Warehouse: args[1], Subscriber: args[2]}
}

// readSubscriptions reads the file of an import.
func (c subscriptionCommands) readSubscriptions(name string) ([]ledger.Subscription, error) {
	var src []byte
	var err error
	if name == "-" {
		src, err = io.ReadAll(io.LimitReader(c.In, strictyaml.MaxSize+1))
	} else {
		src, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, &exitError{ExitUsage, err}
	}
	file, problems := strictyaml.Parse(name, src)
	if len(problems) > 0 {
		return nil, problems
	}
	var list []subscriptionForm
	if file.Root.Kind == strictyaml.Sequence {
		problems = file.Decode(file.Root, &list)
	} else {
		var whole struct {
			Subscriptions []subscriptionForm `yaml:"subscriptions,required"`
			Warnings      []string           `yaml:"warnings"` // what "subscriptions list" has printed; they say nothing here
		}
		problems = file.Decode(file.Root, &whole)
		list = whole.Subscriptions
	}
	if len(problems) > 0 {
		return nil, problems
	}
	if len(list) == 0 {
		return nil, problem.List{{File: name, Code: strictyaml.CodeMissing, Message: "the file has no subscriptions"}}
	}
	var subs []ledger.Subscription
	for _, f := range list {
		if f.Origin == "" {
			subs = append(subs, ledger.Subscription(f))
		}
	}
	if len(subs) == 0 {
		return nil, problem.List{{File: name, Code: strictyaml.CodeMissing, Message: "every subscription of the file has an origin, which lists it"}}
	}
	return subs, nil
}

// subscriptionForm is a subscription as a file has it.
type subscriptionForm struct {
	Type       string `yaml:"type,required"`
	Warehouse  string `yaml:"warehouse,required"`
	Subscriber string `yaml:"subscriber,required"`
	Origin     string `yaml:"origin"` // "subscriptions list" has printed it
}

// listSubscriptions asks for every page; an empty field of the filter is any.
func (c *client) listSubscriptions(ctx context.Context, f ledger.Subscription) (subs []ledger.Subscription, warnings []string, err error) {
	query := queryOf(map[string]string{"type": f.Type, "warehouse": f.Warehouse, "subscriber": f.Subscriber})
	subs = []ledger.Subscription{}
	err = pages(ctx, c, "/subscriptions", query, func(page *wire.SubscriptionsForm) string {
		for i := range page.Subscriptions {
			s := &page.Subscriptions[i]
			subs = append(subs, ledger.Subscription{Type: s.Type, Warehouse: s.Warehouse, Subscriber: s.Subscriber, Origin: s.Origin})
			if s.Warning != "" {
				warnings = append(warnings, strings.Join([]string{s.Type, s.Warehouse, s.Subscriber}, " ")+": "+s.Warning)
			}
		}
		return page.Cursor
	})
	return subs, warnings, err
}

// subscriptionPage is a list of subscriptions as an import takes one.
type subscriptionPage struct {
	Subscriptions []ledger.Subscription `json:"subscriptions"`
	Warnings      []string              `json:"warnings,omitempty"` // of those that no rule serves
}

func (c *client) importSubscriptions(ctx context.Context, subs []ledger.Subscription) (changeForm, error) {
	var form changeForm
	err := c.do(ctx, http.MethodPost, "/subscriptions/import", subscriptionPage{Subscriptions: subs}, &form)
	return form, err
}

func (c *client) removeSubscription(ctx context.Context, s ledger.Subscription) error {
	query := url.Values{"type": {s.Type}, "warehouse": {s.Warehouse}, "subscriber": {s.Subscriber}}
	return c.do(ctx, http.MethodDelete, "/subscriptions?"+query.Encode(), nil, nil)
}

// subscriberCommands are the commands about the address book.
type subscriberCommands struct{ *command }

func (c subscriberCommands) subscribers() *cobra.Command {
	return group("subscribers", "The address book: where push channels reach users and roles",
		c.list(), c.show(), c.set(), c.remove())
}

func (c subscriberCommands) list() *cobra.Command {
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

func (c subscriberCommands) show() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:   "show SUBSCRIBER",
		Short: "Show an entry of the address book",
		Args:  takes("SUBSCRIBER"),
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
		Short: "Add an entry to the address book, or change what the flags name",
		Long: `Add an entry to the address book, or change what the flags name; the rest stays as it is. --mail names all the addresses; --mail "" takes them away.
--tag names all tags. --channel names one address by its channel, and --channel jpush= takes that away.
A role is a subscriber of its own: a mail to it goes to the addresses of the role.`,
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
	cmd.Flags().StringVar(&fields.Name, "name", "", "of the person or role")
	cmd.Flags().StringVar(&fields.Language, "language", "", "of the texts that are pushed to it, such as zh")
	cmd.Flags().StringArrayVar(&fields.Mail, "mail", nil, "ann@example.com or 'Ann Lee <ann@example.com>'; may be repeated")
	cmd.Flags().StringVar(&fields.Phone, "phone", "", "as the gateway wants it, such as +8613800000000")
	cmd.Flags().StringVar(&fields.Alias, "alias", "", "the name by which other systems know it")
	cmd.Flags().StringArrayVar(&fields.Tags, "tag", nil, "a group of other systems; may be repeated")
	cmd.Flags().StringToStringVar(&channels, "channel", nil, "an address in another channel, as jpush=170976fa8ab9e6a2b1f; may be repeated")
	return cmd
}

func withoutEmpty(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == "" })
}

// setChannels sets the addresses that are named; an empty one goes.
func setChannels(known *wire.SubscriberFields, channels map[string]string) {
	if known.Channels == nil {
		known.Channels = wire.ChannelsForm{}
	}
	maps.Copy(known.Channels, channels)
	maps.DeleteFunc(known.Channels, func(_, address string) bool { return address == "" })
}

func (c subscriberCommands) remove() *cobra.Command {
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
	err := pages(ctx, c, "/subscribers", url.Values{}, func(page *wire.SubscribersForm) string {
		all = append(all, page.Subscribers...)
		return page.Cursor
	})
	return all, err
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
