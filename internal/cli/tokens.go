package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/auth"
	"tallyman/internal/cli/terminal"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// tokenCommands are the commands about tokens.
type tokenCommands struct{ *command }

func (c tokenCommands) tokens() *cobra.Command {
	g := group("tokens", "Who may call: API tokens", c.create(), c.list(), c.revoke())
	g.Long = `Who may call: API tokens.

With --server, --token-file, --ca-file or $TALLYMAN_SERVER the commands ask a running server and need the token of an admin. Otherwise, or with
--config or --set, the commands open the ledger that the configuration names; make the first token in this way. Only one process at a time can
open an SQLite ledger, so ask the server while a server runs.`
	return g
}

// withTokens adds the flags of commands that ask a server or open the ledger.
func (c tokenCommands) withTokens(cmd *cobra.Command) *cobra.Command {
	return c.withServer(c.withConfig(cmd))
}

func (c tokenCommands) create() *cobra.Command {
	var ask wire.TokenAskForm
	var out string
	cmd := c.withTokens(&cobra.Command{
		Use:   "create",
		Short: "Create a token and print its secret, which is shown only now",
		Long: `Create a token and print its secret. The secret is shown only now. The secret goes to standard output, or with --out to a new file that only
you may read. The description of the token goes to standard error.`,
		Example: `  tallyman tokens create --subject user:ann --access admin --out admin.token
  tallyman tokens create --subject service:wms --access service,producer --warehouse 119240 --warehouse 119241 --expires 365d
  tallyman tokens create --subject user:bob --access client --subscriber role:keeper --warehouse 119240`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if ask.Subject == "" || len(ask.Access) == 0 {
				return usage("%s needs --subject and --access: who uses the token, and what the token may do", cmd.CommandPath())
			}
			if out != "" {
				return c.createInFile(cmd.Context(), &ask, out)
			}
			token, err := c.createToken(cmd.Context(), &ask)
			if err != nil {
				return err
			}
			return c.print(token, func(w io.Writer) {
				fmt.Fprintf(c.Err, "Token %s: %s\nIts secret is shown only now:\n", token.ID, describeToken(&token.TokenForm))
				fmt.Fprintln(w, token.Secret)
			})
		},
	})
	f := cmd.Flags()
	f.StringVar(&out, "out", "", "write the secret into this new file, which only you may read")
	f.StringVar(&ask.Subject, "subject", "", "who uses the token: user:<id> or service:<id>")
	f.StringSliceVar(&ask.Access, "access", nil, "what the token may do: client, service, producer, worker, viewer, operator, admin; may be repeated")
	f.StringVar(&ask.Name, "name", "", "what the token is for (default the subject)")
	f.StringSliceVar(&ask.Subscribers, "subscriber", nil, "for a client: whose notices the token gets besides those of its user; may be repeated")
	f.StringSliceVar(&ask.Warehouses, "warehouse", nil, "the warehouses of the token; '*' = all; may be repeated")
	f.StringVar(&ask.Expires, "expires", "", "when the token expires: a time such as 2027-01-31T00:00:00Z or a duration such as 90d (default never)")
	return cmd
}

// createToken makes a token, in the store that tokenKeeper returns.
func (c tokenCommands) createToken(ctx context.Context, ask *wire.TokenAskForm) (wire.NewTokenForm, error) {
	keeper, err := c.tokenKeeper(ctx)
	if err != nil {
		return wire.NewTokenForm{}, err
	}
	token, err := keeper.create(ctx, ask)
	return token, errors.Join(err, keeper.close())
}

// createInFile makes a token, and writes its secret into a new file that only its owner may read. It makes the file
// first, so that each secret has a place. If the token cannot be made, createInFile removes the file again.
func (c tokenCommands) createInFile(ctx context.Context, ask *wire.TokenAskForm, name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return usage("--out: %s is there already; name a new file", name)
	}
	if err != nil {
		return usage("--out: %w", err)
	}
	token, err := c.createToken(ctx, ask)
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(name))
	}
	_, err = io.WriteString(f, token.Secret+"\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("token %s was created, but its secret was not written to %s: %w; revoke the token, and create another one", token.ID, name, err)
	}
	return c.print(token.TokenForm, func(w io.Writer) {
		fmt.Fprintf(w, "Token %s: %s\nIts secret is in %s.\n", token.ID, describeToken(&token.TokenForm), name)
	})
}

func (c tokenCommands) list() *cobra.Command {
	var all bool
	cmd := c.withTokens(&cobra.Command{
		Use:     "list",
		Short:   "List the tokens, the latest first",
		Example: "  tallyman tokens list --all",
		Args:    cobra.NoArgs,
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
	cmd.Flags().BoolVar(&all, "all", false, "also revoked and expired tokens")
	return cmd
}

func (c tokenCommands) revoke() *cobra.Command {
	var force bool
	cmd := c.withTokens(&cobra.Command{
		Use:   "revoke TOKEN",
		Short: "End a token for good; TOKEN is its id, as list shows it",
		Long: `End a token for good; TOKEN is its id, as list shows it.

Without --force the command refuses two tokens: the token that you call with, and the last token of an admin.`,
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
			token, err := keeper.revoke(cmd.Context(), args[0], force)
			if err = errors.Join(err, keeper.close()); err != nil {
				return err
			}
			return c.print(token, func(w io.Writer) {
				fmt.Fprintf(w, "Revoked %s of %s, %s by %s.\n", token.ID, token.Subject, stamp(*token.Revoked), token.RevokedBy)
			})
		},
	})
	cmd.Flags().BoolVar(&force, "force", false, "also the token that you call with, or the last token of an admin")
	return cmd
}

// describeToken returns what a token allows.
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
	for i := range list {
		t := &list[i]
		expires := "never"
		if t.Expires != nil {
			expires = stamp(*t.Expires)
		}
		rows[i] = []string{
			t.ID, t.Subject, strings.Join(t.Access, ","), strings.Join(t.Warehouses, ","), t.State, expires, when(t.Used),
			t.Name, orDash(strings.Join(t.Subscribers, ",")), stamp(t.Created), t.CreatedBy,
		}
	}
	terminal.Spread(w, width, header, rows, []string{"TOKEN", "STATE", "EXPIRES", "LAST USED", "CREATED"})
}

// TokenLedger is the ledger, open for its tokens alone.
type TokenLedger interface {
	ledger.Tokens
	Close() error
}

// tokenKeeper is the store of the tokens: a server or the ledger.
type tokenKeeper interface {
	create(ctx context.Context, ask *wire.TokenAskForm) (wire.NewTokenForm, error)
	list(ctx context.Context, ended bool) ([]wire.TokenForm, error)
	revoke(ctx context.Context, id string, force bool) (wire.TokenForm, error)
	close() error
}

// tokenKeeper returns the named server, or else the configured ledger. The caller closes the result.
func (c tokenCommands) tokenKeeper(ctx context.Context) (tokenKeeper, error) {
	remote, err := c.asksServer()
	if err != nil {
		return nil, err
	}
	if remote {
		return remoteTokens{c.client()}, nil
	}
	cfg, err := c.lazyConfig()
	if err != nil {
		return nil, err
	}
	if err := cfg.Need("ledger", "url"); err != nil {
		return nil, err
	}
	l, err := c.services.OpenTokens(ctx, cfg)
	if errors.Is(err, ledger.ErrInUse) {
		return nil, unreachable(fmt.Errorf("%w\nWhile a server has the ledger open, ask it: --server %s://%s --token-file FILE, with the token of an admin. To make the first token, stop the server for a moment", err, cfg.HTTP.Scheme(), cfg.HTTP.Listen))
	}
	if err != nil {
		return nil, unreachable(err)
	}
	return localTokens{l}, nil
}

// remoteTokens asks a server.
type remoteTokens struct{ client *client }

func (r remoteTokens) create(ctx context.Context, ask *wire.TokenAskForm) (token wire.NewTokenForm, err error) {
	return token, r.client.do(ctx, http.MethodPost, "/tokens", ask, &token)
}

func (r remoteTokens) list(ctx context.Context, ended bool) ([]wire.TokenForm, error) {
	var answer struct {
		Tokens []wire.TokenForm `json:"tokens"`
	}
	path := "/tokens"
	if ended {
		path += "?ended=true"
	}
	err := r.client.do(ctx, http.MethodGet, path, nil, &answer)
	return answer.Tokens, err
}

func (r remoteTokens) revoke(ctx context.Context, id string, force bool) (token wire.TokenForm, err error) {
	path := "/tokens/" + url.PathEscape(id) + "/revoke"
	if force {
		path += "?force=true"
	}
	return token, r.client.do(ctx, http.MethodPost, path, nil, &token)
}

func (remoteTokens) close() error { return nil }

// localTokens reads and writes the tokens in the ledger, which it holds open.
type localTokens struct{ ledger TokenLedger }

func (l localTokens) create(ctx context.Context, ask *wire.TokenAskForm) (wire.NewTokenForm, error) {
	now := time.Now()
	who := localUser()
	token, secret, faults := auth.NewTokenOf(ask, who.By, now)
	if len(faults) > 0 {
		return wire.NewTokenForm{}, usage("--%s: %s", flagOf[faults[0].Location], faults[0].Message)
	}
	if err := l.ledger.AddToken(ctx, who, token); err != nil {
		return wire.NewTokenForm{}, err
	}
	return wire.NewTokenForm{TokenForm: auth.TokenForm(&token, now), Secret: secret}, nil
}

// flagOf has the flag for each member of the form.
var flagOf = map[string]string{
	"body.name": "name", "body.subject": "subject", "body.access": "access", "body.subscribers": "subscriber", "body.warehouses": "warehouse",
	"body.expires": "expires",
}

func (l localTokens) list(ctx context.Context, ended bool) ([]wire.TokenForm, error) {
	list, err := l.ledger.ListTokens(ctx)
	if err != nil {
		return nil, err
	}
	return auth.TokenForms(list, ended, time.Now()), nil
}

func (l localTokens) revoke(ctx context.Context, id string, force bool) (wire.TokenForm, error) {
	list, err := l.ledger.ListTokens(ctx)
	if err != nil {
		return wire.TokenForm{}, err
	}
	if prob := auth.RefuseRevoke(list, id, "", time.Now()); prob != nil && !force {
		return wire.TokenForm{}, problemError(prob)
	}
	if err := l.ledger.RevokeToken(ctx, localUser(), id, time.Now()); err != nil {
		return wire.TokenForm{}, err
	}
	if list, err = l.ledger.ListTokens(ctx); err != nil {
		return wire.TokenForm{}, err
	}
	i := slices.IndexFunc(list, func(t ledger.Token) bool { return t.ID == id })
	if i < 0 { // The ledger has forgotten the token in the meantime.
		return wire.TokenForm{}, fmt.Errorf("%w: token %q", ledger.ErrNotFound, id)
	}
	return auth.TokenForm(&list[i], time.Now()), nil
}

func (l localTokens) close() error { return l.ledger.Close() }

// localUser returns the user who runs the program, in the form of the ledger.
func localUser() ledger.Author {
	who := ledger.Author{By: "local:unknown", Via: ledger.ViaLocal}
	if u, err := user.Current(); err == nil && u.Username != "" {
		who.By = "local:" + u.Username
	}
	return who
}
