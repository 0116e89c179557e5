package cli

import (
	"context"
	"fmt"
	"io"
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
		Use:     "list",
		Short:   "List subscriptions",
		Example: "  tallyman subscriptions list --subscriber role:keeper",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			subs, warnings, err := c.client().listSubscriptions(cmd.Context(), filter)
			if err != nil {
				return err
			}
			return c.print(subscriptionPage{Subscriptions: subs, Warnings: warnings}, func(w io.Writer) {
				if len(subs) == 0 {
					fmt.Fprintln(w, "No subscriptions match.")
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
	cmd.Flags().StringVar(&filter.Warehouse, "warehouse", "", "only of this warehouse; * = subscriptions for all warehouses")
	cmd.Flags().StringVar(&filter.Subscriber, "subscriber", "", "only of this subscriber")
	return cmd
}

// changeForm is the answer of a command that changes subscriptions.
type changeForm struct {
	Added   int `json:"added"`
	Present int `json:"present"` // number of subscriptions that existed already
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
					fmt.Fprintln(w, "The subscription exists already.")
				}
			})
		},
	})
}

func (c subscriptionCommands) remove() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:     "remove TYPE WAREHOUSE SUBSCRIBER",
		Short:   "Remove a subscription",
		Example: "  tallyman subscriptions remove REP_NOTICE '*' role:keeper",
		Args:    takes("TYPE", "WAREHOUSE", "SUBSCRIBER"),
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
		Long: `Add the subscriptions of a YAML or JSON file, all or none; - is standard input. Existing subscriptions stay as they are. Subscriptions with an
origin are left out, because the source lists them.

The file is a list, or a map with the list under subscriptions, as in the configuration:

  - {type: REP_NOTICE, warehouse: "*", subscriber: "role:keeper"}`,
		Example: "  tallyman subscriptions import subscriptions.yaml",
		Args:    takes("FILE"),
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
			Warnings      []string           `yaml:"warnings"` // "subscriptions list" prints them; an import ignores them
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

// subscriptionForm is a subscription in a file.
type subscriptionForm struct {
	Type       string `yaml:"type,required"`
	Warehouse  string `yaml:"warehouse,required"`
	Subscriber string `yaml:"subscriber,required"`
	Origin     string `yaml:"origin"` // "subscriptions list" prints it; an import ignores it
}

// listSubscriptions requests all pages. An empty field of the filter matches every subscription.
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

// subscriptionPage is a list of subscriptions in the form that an import accepts.
type subscriptionPage struct {
	Subscriptions []ledger.Subscription `json:"subscriptions"`
	Warnings      []string              `json:"warnings,omitempty"` // warnings about subscriptions that no rule serves
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
