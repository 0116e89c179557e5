package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/wire"
)

// scopeCommands are the commands about scopes that queries list.
type scopeCommands struct{ *command }

func (c scopeCommands) scopes() *cobra.Command {
	return group("scopes", "Scopes of rules that come from a query", c.list(), c.confirm(), c.forget())
}

func (c scopeCommands) list() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:     "list",
		Short:   "Show the rules whose scopes come from a query, and the state of their lists",
		Example: "  tallyman scopes list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd.Context(), c.command, http.MethodGet, "/scopes", nil, func(w io.Writer, form *wire.ScopeOriginsForm) {
				writeScopeOrigins(w, c.width(), form)
			})
		},
	})
}

func (c scopeCommands) confirm() *cobra.Command {
	var yes bool
	cmd := c.withServer(&cobra.Command{
		Use:   "confirm RULE",
		Short: "Accept a list of scopes that waits because it is empty or removes more than half",
		Long: `Accept a waiting list of scopes. A list waits if it is empty or removes more than half of the scopes of the rule. First the command shows what the list removes;
then the command asks. The findings of removed scopes are closed, and their notices resolve.

The command takes exactly that list: if the source has given another list meanwhile, nothing is changed. If the list is wrong, correct the table of the WMS
instead; the next list of the source replaces the waiting list.`,
		Example: "  tallyman scopes confirm low-stock",
		Args:    takes("RULE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := c.client().waitingScopes(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			writeWaitingScopes(c.Err, list)
			question := fmt.Sprintf("Remove %s of %s?", count(list.Removed, "scope"), args[0])
			return c.confirmList(cmd, yes, question, scopesPath(args[0])+"/confirm", list.Hash)
		},
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return cmd
}

func (c scopeCommands) forget() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:     "forget RULE",
		Short:   "Forget the list of scopes of a rule that has no query any more",
		Example: "  tallyman scopes forget low-stock",
		Args:    takes("RULE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.client().do(cmd.Context(), http.MethodDelete, scopesPath(args[0]), nil, nil); err != nil {
				return err
			}
			return c.print(map[string]string{"forgotten": args[0]}, func(w io.Writer) { fmt.Fprintf(w, "Forgot the scopes of %s.\n", args[0]) })
		},
	})
}

func scopesPath(rule string) string { return "/scopes/" + url.PathEscape(rule) }

// waitingScopes returns the list of scopes of the rule that waits for a confirmation.
func (c *client) waitingScopes(ctx context.Context, rule string) (*wire.WaitingScopesForm, error) {
	var form wire.ScopeOriginsForm
	if err := c.do(ctx, http.MethodGet, "/scopes", nil, &form); err != nil {
		return nil, err
	}
	for i := range form.Origins {
		switch o := &form.Origins[i]; {
		case o.Rule != rule:
		case o.Waits == nil:
			return nil, fmt.Errorf("no list of scopes of %s waits", rule)
		default:
			return o.Waits, nil
		}
	}
	return nil, fmt.Errorf("no query lists the scopes of a rule %s; tallyman scopes list shows the rules that have such a query", rule)
}

func writeScopeOrigins(w io.Writer, width int, form *wire.ScopeOriginsForm) {
	if len(form.Origins) == 0 {
		fmt.Fprintln(w, "No rule has scopes from a query.")
		return
	}
	header := []string{"RULE", "SOURCE", "SCOPES", "STATE", "LAST LIST"}
	rows := make([][]string, len(form.Origins))
	for i := range form.Origins {
		o := &form.Origins[i]
		rows[i] = []string{o.Rule, orDash(o.Source), strconv.Itoa(o.Scopes), scopesState(o), when(o.Answered)}
	}
	terminal.Spread(w, width, header, rows, header)
	for i := range form.Origins {
		o := &form.Origins[i]
		if o.Error != "" {
			terminal.Wrap(w, width, o.Rule+" fails: ", terminal.OneLine(o.Error))
		}
		switch {
		case o.Waits != nil:
			terminal.Wrap(w, width, o.Rule+" waits: ", fmt.Sprintf("a list of %s would remove %d of %d; tallyman scopes confirm %s takes it", count(o.Waits.Scopes, "scope"), o.Waits.Removed, o.Scopes, o.Rule))
		case !o.Listed && o.Error == "":
			terminal.Wrap(w, width, o.Rule+" waits: ", "its query has not been answered yet, so the rule does not run")
		}
		if o.Source == "" {
			terminal.Wrap(w, width, o.Rule+" is left over: ", "the rule files of the node have no query for it; tallyman scopes forget "+o.Rule+" forgets the list")
		}
	}
}

// scopesState returns the most serious state of the scopes of a rule.
func scopesState(o *wire.ScopeOriginForm) string {
	switch {
	case o.Source == "":
		return "left over"
	case o.Waits != nil:
		return "waits"
	case o.Error != "":
		return "fails"
	case !o.Listed:
		return "not asked"
	case o.Scopes == 0:
		return "empty"
	}
	return "ok"
}

func writeWaitingScopes(w io.Writer, list *wire.WaitingScopesForm) {
	fmt.Fprintf(w, "The list of %s waits since %s. It adds %d, changes %d and removes %d", count(list.Scopes, "scope"), stamp(list.Since), list.Added, list.Changed, list.Removed)
	if len(list.Removing) > 0 {
		fmt.Fprintf(w, ": %s", strings.Join(list.Removing, ", "))
	}
	if rest := list.Removed - len(list.Removing); rest > 0 {
		fmt.Fprintf(w, " and %d more", rest)
	}
	fmt.Fprintln(w, ".")
}
