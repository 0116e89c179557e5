package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/auth"
	"tallyman/internal/cli/terminal"
	"tallyman/internal/wire"
)

func (c *command) tokens() *cobra.Command {
	g := group("tokens", "Who may call: API tokens", c.tokensCreate(), c.tokensList(), c.tokensRevoke())
	g.Long = `Who may call: API tokens.

With --server or $TALLYMAN_SERVER the commands ask a running server, for which they need the token of an admin. Otherwise they open the ledger
that the configuration names, which is how the first token comes about. An SQLite ledger is open to one process at a time, so name the server
while one runs.`
	return g
}

// withTokens adds the flags of commands that ask a server or open the ledger.
func (c *command) withTokens(cmd *cobra.Command) *cobra.Command {
	return c.withServer(c.withConfig(cmd))
}

func (c *command) tokensCreate() *cobra.Command {
	var ask wire.TokenAskForm
	cmd := c.withTokens(&cobra.Command{
		Use:   "create",
		Short: "Create a token and print its secret, which is shown this once",
		Long: `Create a token and print its secret, which is shown this once. The secret alone goes to standard output, so that it can be sent to a file;
what it is good for goes to standard error.`,
		Example: `  tallyman tokens create --subject user:ann --access admin > admin.token
  tallyman tokens create --subject service:wms --access service,producer --warehouse 119240 --warehouse 119241 --expires 365d
  tallyman tokens create --subject user:bob --access client --subscriber role:keeper --warehouse 119240`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if ask.Subject == "" || len(ask.Access) == 0 {
				return usage("%s needs --subject and --access: who uses the token, and what it may do", cmd.CommandPath())
			}
			keeper, err := c.tokenKeeper(cmd.Context())
			if err != nil {
				return err
			}
			token, err := keeper.create(cmd.Context(), &ask)
			if err = errors.Join(err, keeper.close()); err != nil {
				return err
			}
			return c.print(token, func(w io.Writer) {
				fmt.Fprintf(c.Err, "Token %s: %s\nIts secret is shown this once:\n", token.ID, describeToken(&token.TokenForm))
				fmt.Fprintln(w, token.Secret)
			})
		},
	})
	f := cmd.Flags()
	f.StringVar(&ask.Subject, "subject", "", "who uses it: user:<id> or service:<id>")
	f.StringSliceVar(&ask.Access, "access", nil, "what it may do: client, service, producer, worker, viewer, operator, admin; may be repeated")
	f.StringVar(&ask.Name, "name", "", "what it is for (default the subject)")
	f.StringSliceVar(&ask.Subscribers, "subscriber", nil, "of a client: whose notices it gets, besides its user; may be repeated")
	f.StringSliceVar(&ask.Warehouses, "warehouse", nil, "where; '*' = everywhere; may be repeated")
	f.StringVar(&ask.Expires, "expires", "", "when it ends: a time such as 2027-01-31T00:00:00Z or a duration such as 90d (default never)")
	return cmd
}

func (c *command) tokensList() *cobra.Command {
	var all bool
	cmd := c.withTokens(&cobra.Command{
		Use:   "list",
		Short: "List the tokens, the latest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			keeper, err := c.tokenKeeper(cmd.Context())
			if err != nil {
				return err
			}
			list, err := keeper.list(cmd.Context(), all)
			if err = errors.Join(err, keeper.close()); err != nil {
				return err
			}
			return c.print(map[string][]wire.TokenForm{"tokens": list}, func(w io.Writer) { writeTokens(w, c.width(), list) })
		},
	})
	cmd.Flags().BoolVar(&all, "all", false, "those too that were revoked or have expired")
	return cmd
}

func (c *command) tokensRevoke() *cobra.Command {
	return c.withTokens(&cobra.Command{
		Use:     "revoke TOKEN",
		Short:   "End a token for good; TOKEN is its id, as list shows it",
		Example: "  tallyman tokens revoke t_5rmwxhkqj2ab",
		Args:    takes("TOKEN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.HasPrefix(args[0], auth.SecretPrefix) {
				return usage("that is a secret, not the id of a token: list shows the ids")
			}
			keeper, err := c.tokenKeeper(cmd.Context())
			if err != nil {
				return err
			}
			token, err := keeper.revoke(cmd.Context(), args[0])
			if err = errors.Join(err, keeper.close()); err != nil {
				return err
			}
			return c.print(token, func(w io.Writer) {
				fmt.Fprintf(w, "Revoked %s of %s, %s by %s.\n", token.ID, token.Subject, stamp(*token.Revoked), token.RevokedBy)
			})
		},
	})
}

// describeToken says what a token is good for.
func describeToken(t *wire.TokenForm) string {
	where := "in " + strings.Join(t.Warehouses, ", ")
	if len(t.Warehouses) == 1 && t.Warehouses[0] == "*" {
		where = "in all warehouses"
	}
	text := t.Subject + " as " + strings.Join(t.Access, ", ") + " " + where
	if len(t.Subscribers) > 0 {
		text += ", with the notices of " + strings.Join(t.Subscribers, ", ")
	}
	if t.Expires == nil {
		return text + "; it does not expire"
	}
	return text + ", until " + stamp(*t.Expires)
}

func writeTokens(w io.Writer, width int, list []wire.TokenForm) {
	if len(list) == 0 {
		fmt.Fprintln(w, "There are no tokens.")
		return
	}
	header := []string{"TOKEN", "SUBJECT", "ACCESS", "WAREHOUSES", "STATE", "EXPIRES", "LAST USED", "NAME", "SUBSCRIBERS", "CREATED", "BY"}
	rows := make([][]string, len(list))
	moment := func(t *time.Time, none string) string {
		if t == nil {
			return none
		}
		return stamp(*t)
	}
	for i := range list {
		t := &list[i]
		rows[i] = []string{
			t.ID, t.Subject, strings.Join(t.Access, ","), strings.Join(t.Warehouses, ","), t.State, moment(t.Expires, "never"), moment(t.Used, "-"),
			t.Name, orDash(strings.Join(t.Subscribers, ",")), stamp(t.Created), t.CreatedBy,
		}
	}
	terminal.Spread(w, width, header, rows, []string{"TOKEN", "STATE", "EXPIRES", "LAST USED", "CREATED"})
}
