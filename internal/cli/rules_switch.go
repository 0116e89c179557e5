package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// switchFlags are the flags of a switch: its scope, its end and its reason.
type switchFlags struct{ scope, until, lasts, reason string }

func (f *switchFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.until, "until", "", "when the switch ends by itself: 2026-06-01T18:00:00+08:00")
	cmd.Flags().StringVar(&f.lasts, "for", "", "instead of --until, how long the switch lasts: 2h")
	cmd.Flags().StringVar(&f.reason, "reason", "", "the reason, for other readers")
}

// switchAsk is the body of a request that sets a switch.
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

func (c ruleCommands) enable() *cobra.Command {
	return c.ruleSwitch("enable RULE", "Let a rule run, whatever its file says", `Let a rule run, in one scope or as a whole, whatever its file says.

The switch is in force on every node within a second. It outlives reloads and restarts until it ends or "rules clear" removes it. Firings that were due while
the rule was disabled are skipped.`, "  tallyman rules enable negative-bin-stock --scope 119240")
}

func (c ruleCommands) disable() *cobra.Command {
	return c.ruleSwitch("disable RULE", "Stop a rule, whatever its file says", `Stop a rule, in one scope or as a whole, whatever its file says.

The switch is in force on every node within a second, and outlives reloads and restarts. A run that has begun goes on to its end. The findings are frozen until
the rule runs again: no notice is made, no finding resolves, and their times stand still. The switch of a scope wins over the switch of the whole rule.`, `  tallyman rules disable negative-bin-stock --for 2h --reason "stocktake in aisle 7"`)
}

// ruleSwitch makes the command enable or disable.
func (c ruleCommands) ruleSwitch(use, short, long, example string) *cobra.Command {
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

func (c ruleCommands) clear() *cobra.Command {
	var scope string
	cmd := c.withServer(&cobra.Command{
		Use: "clear RULE", Short: "Remove the switch of a rule, so that the rule follows its file", Example: "  tallyman rules clear negative-bin-stock --scope 119240", Args: takes("RULE"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.turn(cmd, args[0], "/clear", scope, nil) },
	})
	cmd.Flags().StringVar(&scope, "scope", "", "one scope; without it, the whole rule")
	return cmd
}

// turn sets a switch and writes the new state of the rule's scopes.
func (c ruleCommands) turn(cmd *cobra.Command, rule, path, scope string, body any) error {
	query := queryOf(map[string]string{"scope": scope})
	return show(cmd.Context(), c.command, http.MethodPost, withQuery(rulePath(rule, path), query), body, func(w io.Writer, form *wire.SwitchedForm) {
		writeSwitched(w, form, scope)
	})
}

// writeSwitched writes the state of the rule in each scope after a switch, and the scopes with a switch of their own.
func writeSwitched(w io.Writer, form *wire.SwitchedForm, scope string) {
	if len(form.Scopes) == 0 {
		fmt.Fprintf(w, "The switch of %s is cleared; no file has the rule.\n", form.Rule)
	}
	for i := range form.Scopes {
		s := &form.Scopes[i]
		if scope != "" && s.Scope != scope {
			continue
		}
		state, why := "disabled", " by its file"
		if s.Enabled {
			state = "enabled"
		}
		if sw := s.Switch; sw != nil {
			why = switchedBy(sw)
			switch {
			case sw.Rule == "*":
				why += " (all rules are stopped)"
			case sw.Scope != "*" && scope == "":
				why += " (the scope has a switch of its own)"
			}
		}
		fmt.Fprintf(w, "%s%s is %s%s.\n", form.Rule, within(s.Scope), state, why)
	}
}

func (c ruleCommands) pause() *cobra.Command {
	var f switchFlags
	cmd := c.withServer(&cobra.Command{
		Use: "pause", Short: "Stop every rule, whatever its own switch says",
		Long:    "Stop every rule on every node. Switches of single rules stay, and are in force again after \"rules resume\".",
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

func (c ruleCommands) resume() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use: "resume", Short: "End the pause of all rules", Example: "  tallyman rules resume", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.pauseRules(cmd, "/rules/resume", nil) },
	})
}

func (c ruleCommands) pauseRules(cmd *cobra.Command, path string, body any) error {
	return show(cmd.Context(), c.command, http.MethodPost, path, body, func(w io.Writer, form *wire.PausedForm) {
		if form.Paused == nil {
			fmt.Fprintln(w, "The rules run as their files and switches say.")
			return
		}
		fmt.Fprintf(w, "Every rule is stopped%s.\n", switchedBy(form.Paused))
	})
}

// switchText returns a short text for a switch.
func switchText(s *wire.SwitchForm) string {
	if s == nil {
		return ""
	}
	text := s.State
	if s.Rule == "*" {
		text = "paused"
	}
	return text + switchedBy(s)
}

// switchedBy returns who set a switch, why, and until when.
func switchedBy(s *wire.SwitchForm) string {
	text := " by " + s.By
	if s.Until != nil {
		text += " until " + stamp(*s.Until)
	}
	if s.Reason != "" {
		text += ": " + terminal.OneLine(s.Reason)
	}
	return text
}

// promotionForm is a rule that is live in a scope although its file puts the rule in shadow.
type promotionForm struct {
	Rule     string    `json:"rule"`
	Scope    string    `json:"scope"`
	Promoted time.Time `json:"promoted"`
	By       string    `json:"by"`
}

func (c ruleCommands) promote() *cobra.Command {
	var scope string
	cmd := c.withServer(&cobra.Command{
		Use:   "promote RULE",
		Short: "Promote a rule in shadow on a running server, without second notices of known findings",
		Long: `Promote a rule whose file says "shadow: true", in one scope or in all of them.

From its next run on, on every node, the rule delivers new findings to the sinks of its file. Known findings get no second notice; their
resolutions go to the shadow inbox, as their notices did. The promotion outlives restarts. Remove "shadow" from the file at any later
time; the promotion is forgotten after that.`,
		Example: "  tallyman rules promote negative-bin-stock --scope 119240",
		Args:    takes("RULE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := c.client().promote(cmd.Context(), args[0], scope)
			if err != nil {
				return err
			}
			return c.print(list, func(w io.Writer) {
				for _, p := range list {
					fmt.Fprintf(w, "%s%s is promoted since %s (%s).\n", p.Rule, within(p.Scope), p.Promoted.UTC().Format(time.RFC3339), p.By)
				}
			})
		},
	})
	cmd.Flags().StringVar(&scope, "scope", "", "one scope; without it, every scope in which the rule is in shadow")
	return cmd
}

func (c *client) promote(ctx context.Context, rule, scope string) ([]promotionForm, error) {
	var form struct {
		Promotions []promotionForm `json:"promotions"`
	}
	err := c.do(ctx, http.MethodPost, withQuery(rulePath(rule, "/promote"), queryOf(map[string]string{"scope": scope})), nil, &form)
	return form.Promotions, err
}

func (c ruleCommands) run() *cobra.Command {
	var scope string
	cmd := c.withServer(&cobra.Command{
		Use:   "run RULE",
		Short: "Run a rule of a running server now, and deliver its notices",
		Long: `Run a firing of a rule now, once in the cluster. Its notices are delivered as those of any other firing. A disabled rule runs, too, because you ask for
the run. To see what a rule would do without sending notices, use "rules preview".`,
		Example: "  tallyman rules run negative-bin-stock --scope 119240",
		Args:    takes("RULE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			query := queryOf(map[string]string{"scope": scope})
			var form wire.OrderedForm
			raw, err := c.client().ask(cmd.Context(), http.MethodPost, withQuery(rulePath(args[0], "/run"), query), nil, &form)
			if err != nil {
				return err
			}
			if err := c.print(raw, func(w io.Writer) { writeOrdered(w, &form) }); err != nil {
				return err
			}
			if form.Run != nil && form.Run.Outcome == string(ledger.OutcomeFailed) {
				return found()
			}
			return nil
		},
	})
	cmd.Flags().StringVar(&scope, "scope", "", "required if the rule has several")
	return cmd
}

func writeOrdered(w io.Writer, form *wire.OrderedForm) {
	if form.Run == nil {
		fmt.Fprintf(w, "%s%s was due at %s and has not ended; tallyman rules runs %s shows it when it has.\n", form.Rule, within(form.Scope), stamp(form.Due), form.Rule)
		return
	}
	r := form.Run
	fmt.Fprintf(w, "%s%s: %s in %s, %s, %s, %d firing, %d pending, %s.\n", form.Rule, within(form.Scope), r.Outcome, time.Duration(r.DurationMS)*time.Millisecond,
		count(r.Rows, "row"), strconv.Itoa(r.Matched)+" matched", r.Firing, r.Pending, count(r.Notices, "notice"))
	for _, text := range append(r.Samples, r.Error) {
		if text != "" {
			fmt.Fprintf(w, "  %s\n", terminal.OneLine(text))
		}
	}
}

func (c ruleCommands) reload() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:   "reload",
		Short: "Make a running server read its rule files again",
		Long: `Make the server that answers read its rule files again. A server also reads them by itself within two seconds of a change, and on SIGHUP. A file with a
problem is not loaded: the last good version of its rules stays in force. Sources, sinks and other configuration are read at the start only.`,
		Example: "  tallyman rules reload",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var form wire.Reloaded
			raw, err := c.client().ask(cmd.Context(), http.MethodPost, "/rules/reload", nil, &form)
			if err != nil {
				return err
			}
			if err := c.print(raw, func(w io.Writer) { writeReloaded(w, &form) }); err != nil {
				return err
			}
			if len(form.Problems) > 0 {
				return found()
			}
			return nil
		},
	})
}

func writeReloaded(w io.Writer, r *wire.Reloaded) {
	fmt.Fprintf(w, "%s of %s: %d added, %d changed, %d removed", count(r.Rules, "rule"), count(r.Files, "file"), r.Added, r.Changed, r.Removed)
	if r.Kept > 0 {
		fmt.Fprintf(w, ", %d as before", r.Kept)
	}
	fmt.Fprintf(w, " (version %s)\n", r.Version)
	writeFileProblems(w, r.Problems)
}
