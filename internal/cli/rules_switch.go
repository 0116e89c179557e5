package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/wire"
)

// switchFlags say how long a switch lasts, and why.
type switchFlags struct{ scope, until, lasts, reason string }

func (f *switchFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.until, "until", "", "when it ends by itself: 2026-06-01T18:00:00+08:00")
	cmd.Flags().StringVar(&f.lasts, "for", "", "instead of --until, how long it lasts: 2h")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for those who see it")
}

// switchAsk is the body of a request.
type switchAsk struct {
	Until  *time.Time `json:"until,omitempty"`
	For    string     `json:"for,omitempty"`
	Reason string     `json:"reason,omitempty"`
}

func (f *switchFlags) ask() (*switchAsk, error) {
	a := &switchAsk{For: f.lasts, Reason: f.reason}
	if f.until != "" {
		at, err := time.Parse(time.RFC3339, f.until)
		if err != nil {
			return nil, usage("--until takes a time such as 2026-06-01T18:00:00+08:00, not %q; --for takes a duration", f.until)
		}
		if f.lasts != "" {
			return nil, usage("--until and --for say the same thing; give one of them")
		}
		a.Until = &at
	}
	return a, nil
}

func (c *command) rulesEnable() *cobra.Command {
	return c.ruleSwitch("enable RULE", "Let a rule run, whatever its file says", `Let a rule run, in one scope or as a whole, whatever its file says.

It is in force on every node within a second, and outlives reloads and restarts until it ends or "rules clear" takes it back. What came due while the rule
was disabled is not made good.`, "  tallyman rules enable negative-bin-stock --scope 119240")
}

func (c *command) rulesDisable() *cobra.Command {
	return c.ruleSwitch("disable RULE", "Stop a rule, whatever its file says", `Stop a rule, in one scope or as a whole, whatever its file says.

It is in force on every node within a second, and outlives reloads and restarts. A run that has begun goes on to its end. Findings are frozen: nothing is told or resolved, and
no time passes for them, until the rule runs again. A scope's own switch wins over the whole rule's.`, `  tallyman rules disable negative-bin-stock --for 2h --reason "stocktake in aisle 7"`)
}

// ruleSwitch is the command for one of the two ways.
func (c *command) ruleSwitch(use, short, long, example string) *cobra.Command {
	var f switchFlags
	cmd := c.withServer(&cobra.Command{
		Use: use, Short: short, Long: long, Example: example, Args: takes("RULE"),
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		body, err := f.ask()
		if err != nil {
			return err
		}
		return c.turn(cmd, args[0], "/"+cmd.Name(), f.scope, body)
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.scope, "scope", "", "one scope; without it, the whole rule")
	return cmd
}

func (c *command) rulesClear() *cobra.Command {
	var scope string
	cmd := c.withServer(&cobra.Command{
		Use: "clear RULE", Short: "Go back to what a rule's file says", Example: "  tallyman rules clear negative-bin-stock --scope 119240", Args: takes("RULE"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.turn(cmd, args[0], "/clear", scope, nil) },
	})
	cmd.Flags().StringVar(&scope, "scope", "", "one scope; without it, the whole rule")
	return cmd
}

// turn throws a switch and shows how the rule's scopes are by then.
func (c *command) turn(cmd *cobra.Command, rule, path, scope string, body *switchAsk) error {
	query := url.Values{}
	if scope != "" {
		query.Set("scope", scope)
	}
	var ask any
	if body != nil {
		ask = body
	}
	var form wire.SwitchedForm
	raw, err := c.client().ask(cmd.Context(), http.MethodPost, withQuery(rulePath(rule, path), query), ask, &form)
	if err != nil {
		return err
	}
	return c.print(raw, func(w io.Writer) { writeSwitched(w, &form, scope) })
}

func (c *command) rulesPause() *cobra.Command {
	var f switchFlags
	cmd := c.withServer(&cobra.Command{
		Use: "pause", Short: "Stop every rule, whatever else is switched",
		Long:    "Stop every rule on every node. Switches of single rules stay as they are, and count again after \"rules resume\".",
		Example: `  tallyman rules pause --for 30m --reason "moving the WMS database"`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			body, err := f.ask()
			if err != nil {
				return err
			}
			return c.pauseRules(cmd, "/rules/pause", body)
		},
	})
	f.add(cmd)
	return cmd
}

func (c *command) rulesResume() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use: "resume", Short: "End the pause of all rules", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.pauseRules(cmd, "/rules/resume", nil) },
	})
}

func (c *command) pauseRules(cmd *cobra.Command, path string, body any) error {
	var form wire.PausedForm
	raw, err := c.client().ask(cmd.Context(), http.MethodPost, path, body, &form)
	if err != nil {
		return err
	}
	return c.print(raw, func(w io.Writer) {
		if form.Paused == nil {
			fmt.Fprintln(w, "The rules run as their files and switches say.")
			return
		}
		fmt.Fprintf(w, "Every rule is stopped%s.\n", switchedBy(form.Paused))
	})
}
