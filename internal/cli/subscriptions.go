package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/ledger"
	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

func (c *command) subscriptions() *cobra.Command {
	return group("subscriptions", "Who gets which notices",
		c.subscriptionsList(), c.subscriptionsAdd(), c.subscriptionsRemove(), c.subscriptionsImport())
}

// withServer adds the flags of commands that talk to a server.
func (c *command) withServer(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&c.server, "server", "", "the server's address (default $TALLYMAN_SERVER, or "+defaultServer+")")
	cmd.Flags().StringVar(&c.tokenFile, "token-file", "", "the file that holds the token to call with (default the token in $TALLYMAN_TOKEN)")
	cmd.Flags().StringVar(&c.caFile, "ca-file", "", "the certificate file of an authority to trust besides the system's (default $TALLYMAN_CA_FILE)")
	return cmd
}

func (c *command) subscriptionsList() *cobra.Command {
	var filter ledger.Subscription
	cmd := c.withServer(&cobra.Command{
		Use:   "list",
		Short: "List subscriptions",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			subs, err := c.client().listSubscriptions(cmd.Context(), filter)
			if err != nil {
				return err
			}
			return c.print(map[string][]ledger.Subscription{"subscriptions": subs}, func(w io.Writer) {
				if len(subs) == 0 {
					fmt.Fprintln(w, "There are no such subscriptions.")
					return
				}
				rows := make([][]string, len(subs))
				for i, s := range subs {
					rows[i] = []string{s.Type, s.Warehouse, s.Subscriber}
				}
				terminal.Spread(w, c.width(), []string{"TYPE", "WAREHOUSE", "SUBSCRIBER"}, rows, nil)
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

func (c *command) subscriptionsAdd() *cobra.Command {
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

func (c *command) subscriptionsRemove() *cobra.Command {
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

func (c *command) subscriptionsImport() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:   "import FILE",
		Short: "Add the subscriptions of a YAML or JSON file, all or none; - is standard input",
		Long: `Add the subscriptions of a YAML or JSON file, all or none; - is standard input. Those that are there already are left alone.

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
func (c *command) readSubscriptions(name string) ([]ledger.Subscription, error) {
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
	subs := make([]ledger.Subscription, len(list))
	for i, f := range list {
		subs[i] = ledger.Subscription(f)
	}
	return subs, nil
}

// subscriptionForm is a subscription as a file has it.
type subscriptionForm struct {
	Type       string `yaml:"type,required"`
	Warehouse  string `yaml:"warehouse,required"`
	Subscriber string `yaml:"subscriber,required"`
}
