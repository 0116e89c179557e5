package cli

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/wire"
)

func (c *command) rulesList() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:   "list",
		Short: "List the rules of a running server, and how they do",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			form, err := c.client().listRules(cmd.Context())
			if err != nil {
				return err
			}
			return c.print(form, func(w io.Writer) { writeRules(w, c.width(), form, time.Now()) })
		},
	})
}

// listRules asks for every page.
func (c *client) listRules(ctx context.Context) (*wire.RulesForm, error) {
	all := &wire.RulesForm{}
	query := url.Values{"limit": {"1000"}}
	for {
		var page wire.RulesForm
		if err := c.do(ctx, http.MethodGet, withQuery("/rules", query), nil, &page); err != nil {
			return nil, err
		}
		page.Rules = append(all.Rules, page.Rules...)
		all = &page
		if page.Cursor == "" {
			return all, nil
		}
		query.Set("after", page.Cursor)
		page.Cursor = ""
	}
}

func (c *command) rulesShow() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:     "show RULE",
		Short:   "Show a rule of a running server: its file, switches, last run and next firing, by scope",
		Example: "  tallyman rules show negative-bin-stock",
		Args:    takes("RULE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var r wire.RuleForm
			raw, err := c.client().ask(cmd.Context(), http.MethodGet, rulePath(args[0], ""), nil, &r)
			if err != nil {
				return err
			}
			return c.print(raw, func(w io.Writer) { writeRule(w, &r, time.Now()) })
		},
	})
}

func rulePath(id, rest string) string { return "/rules/" + url.PathEscape(id) + rest }

// ruleListFlags narrow a list of a rule's runs or findings.
type ruleListFlags struct {
	scope, state string
	limit        int
}

func (f *ruleListFlags) query() url.Values {
	query := url.Values{"limit": {strconv.Itoa(f.limit)}}
	if f.scope != "" {
		query.Set("scope", f.scope)
	}
	if f.state != "" {
		query.Set("state", f.state)
	}
	return query
}

func (c *command) rulesRuns() *cobra.Command {
	var f ruleListFlags
	cmd := c.withServer(&cobra.Command{
		Use:     "runs RULE",
		Short:   "List the latest runs of a rule",
		Example: "  tallyman rules runs negative-bin-stock --scope 119240 --limit 10",
		Args:    takes("RULE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var form wire.RunsForm
			raw, err := c.client().ask(cmd.Context(), http.MethodGet, withQuery(rulePath(args[0], "/runs"), f.query()), nil, &form)
			if err != nil {
				return err
			}
			return c.print(raw, func(w io.Writer) { writeRuns(w, c.width(), form.Runs) })
		},
	})
	cmd.Flags().StringVar(&f.scope, "scope", "", "only in this scope")
	cmd.Flags().IntVar(&f.limit, "limit", 20, "how many runs at most")
	return cmd
}

func (c *command) rulesFindings() *cobra.Command {
	var f ruleListFlags
	cmd := c.withServer(&cobra.Command{
		Use:   "findings RULE",
		Short: "List the open findings of a rule",
		Example: `  tallyman rules findings negative-bin-stock --state firing
  tallyman rules why negative-bin-stock 119240,A-01,S1`,
		Args: takes("RULE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var form wire.FindingsForm
			raw, err := c.client().ask(cmd.Context(), http.MethodGet, withQuery(rulePath(args[0], "/findings"), f.query()), nil, &form)
			if err != nil {
				return err
			}
			return c.print(raw, func(w io.Writer) { writeFindings(w, c.width(), &form) })
		},
	})
	cmd.Flags().StringVar(&f.scope, "scope", "", "only in this scope")
	cmd.Flags().StringVar(&f.state, "state", "", "only in this state: pending or firing")
	cmd.Flags().IntVar(&f.limit, "limit", 50, "how many findings at most")
	return cmd
}
