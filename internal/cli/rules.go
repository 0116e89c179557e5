package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/wire"
)

// ruleCommands are the commands about rules.
type ruleCommands struct{ *command }

func (c ruleCommands) rules() *cobra.Command {
	return group("rules", "Check and try rule files; operate the rules of a running server",
		c.check(), c.test(), c.preview(), c.diff(), c.new(), c.schema(),
		c.list(), c.top(), c.show(), c.enable(), c.disable(), c.clear(), c.run(), c.runs(), c.findings(),
		c.why(), c.promote(), c.rewind(), c.pause(), c.resume(), c.reload(),
	)
}

func (c ruleCommands) list() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:     "list",
		Short:   "List the rules of a running server, and their health",
		Example: "  tallyman rules list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			form, err := c.client().listRules(cmd.Context())
			if err != nil {
				return err
			}
			return c.print(form, func(w io.Writer) { writeRules(w, c.width(), form, time.Now()) })
		},
	})
}

// listRules requests all pages of the rules.
func (c *client) listRules(ctx context.Context) (*wire.RulesForm, error) {
	all := &wire.RulesForm{}
	err := pages(ctx, c, "/rules", url.Values{}, func(page *wire.RulesForm) (cursor string) {
		page.Rules = append(all.Rules, page.Rules...)
		cursor, page.Cursor = page.Cursor, ""
		all = page
		return cursor
	})
	return all, err
}

func (c ruleCommands) show() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:     "show RULE",
		Short:   "Show a rule of a running server: its file, switches, last run and next firing, by scope",
		Example: "  tallyman rules show negative-bin-stock",
		Args:    takes("RULE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return show(cmd.Context(), c.command, http.MethodGet, rulePath(args[0], ""), nil, func(w io.Writer, r *wire.RuleForm) {
				writeRule(w, r, time.Now())
			})
		},
	})
}

func rulePath(id, rest string) string { return "/rules/" + url.PathEscape(id) + rest }

// ruleListFlags are the flags that select runs or findings of a rule.
type ruleListFlags struct {
	scope, state string
	since, until string
	limit        int
}

func (f *ruleListFlags) query() url.Values {
	return queryOf(map[string]string{"scope": f.scope, "state": f.state, "since": f.since, "until": f.until, "limit": strconv.Itoa(f.limit)})
}

func (c ruleCommands) runs() *cobra.Command {
	var f ruleListFlags
	cmd := c.withServer(&cobra.Command{
		Use:   "runs RULE",
		Short: "List the latest runs of a rule",
		Example: `  tallyman rules runs negative-bin-stock --scope 119240 --limit 10
  tallyman rules runs negative-bin-stock --since 3h --until 2h`,
		Args: takes("RULE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return show(cmd.Context(), c.command, http.MethodGet, withQuery(rulePath(args[0], "/runs"), f.query()), nil, func(w io.Writer, form *wire.RunsForm) {
				writeRuns(w, c.width(), form.Runs)
			})
		},
	})
	cmd.Flags().StringVar(&f.scope, "scope", "", "only in this scope")
	cmd.Flags().StringVar(&f.since, "since", "", "only runs that were due at this time or later: a time such as 2026-06-01T08:00:00Z, or a duration before now such as 3h")
	cmd.Flags().StringVar(&f.until, "until", "", "only runs that were due before this time")
	cmd.Flags().IntVar(&f.limit, "limit", 20, "how many runs at most")
	return cmd
}

func (c ruleCommands) findings() *cobra.Command {
	var f ruleListFlags
	cmd := c.withServer(&cobra.Command{
		Use:   "findings RULE",
		Short: "List the open findings of a rule",
		Example: `  tallyman rules findings negative-bin-stock --state firing
  tallyman rules why negative-bin-stock 119240,A-01,S1 --scope 119240`,
		Args: takes("RULE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return show(cmd.Context(), c.command, http.MethodGet, withQuery(rulePath(args[0], "/findings"), f.query()), nil, func(w io.Writer, form *wire.FindingsForm) {
				writeFindings(w, c.width(), form)
			})
		},
	})
	cmd.Flags().StringVar(&f.scope, "scope", "", "only in this scope")
	cmd.Flags().StringVar(&f.state, "state", "", "only in this state: pending or firing")
	cmd.Flags().IntVar(&f.limit, "limit", 50, "how many findings at most")
	return cmd
}

// writeRules writes a line for each rule in each scope. A switch of all rules comes first.
func writeRules(w io.Writer, width int, form *wire.RulesForm, now time.Time) {
	if form.Paused != nil {
		fmt.Fprintf(w, "Every rule is stopped%s.\n\n", switchedBy(form.Paused))
	}
	header := []string{"RULE", "SCOPE", "HEALTH", "FIRING", "PENDING", "NEXT", "LAST RUN", "TOOK", "SWITCH"}
	var rows [][]string
	for i := range form.Rules {
		r := &form.Rules[i]
		for j := range r.Scopes {
			s := &r.Scopes[j]
			rows = append(rows, []string{
				r.ID, orDash(s.Scope), healthText(r, s), strconv.Itoa(s.Firing), strconv.Itoa(s.Pending), orDash(soon(s.NextDue, now)), orDash(lately(s.LastRun, now)), orDash(tookText(s.Recent)), orDash(switchText(s.Switch)),
			})
		}
	}
	if len(rows) == 0 {
		fmt.Fprintln(w, "There are no rules.")
	} else {
		terminal.Spread(w, width, header, rows, []string{"RULE", "FIRING", "PENDING", "NEXT", "LAST RUN"})
	}
	for i := range form.Strays {
		s := &form.Strays[i]
		scope, flag := "", ""
		if s.Scope != "*" {
			scope, flag = s.Scope, " --scope "+s.Scope
		}
		fmt.Fprintf(w, "\nThe switch of %s%s is about a rule that no file has; tallyman rules clear %s%s removes the switch.\n", s.Rule, within(scope), s.Rule, flag)
	}
	writeFileProblems(w, form.Problems)
}

func healthText(r *wire.RuleForm, s *wire.ScopeForm) string {
	text := s.Health
	if s.Shadow && s.Promoted == nil {
		text += ", shadow"
	}
	if r.Stale {
		text += ", file bad"
	}
	return text
}

// tookText is the median duration of the last runs.
func tookText(recent *wire.Recent) string {
	if recent == nil || len(recent.DurationsMS) == 0 {
		return ""
	}
	median, _ := durations(recent)
	return millis(median)
}

// soon returns the duration from now to the time.
func soon(t *time.Time, now time.Time) string {
	switch {
	case t == nil:
		return ""
	case t.After(now):
		return "in " + until(*t, now)
	}
	return "due"
}

// lately returns the outcome of a run, and how long ago the run was due.
func lately(r *wire.RunStatus, now time.Time) string {
	switch {
	case r == nil:
		return ""
	case r.Due.Before(now):
		return r.Outcome + " " + until(now, r.Due) + " ago"
	}
	return r.Outcome
}

func lastRunText(r *wire.RunStatus) string {
	if r == nil {
		return ""
	}
	text := stamp(r.Due) + " " + r.Outcome
	if r.Error != "" {
		text += " " + terminal.OneLine(r.Error)
	}
	return text
}

// writeFileProblems writes the problems of rule files in the form of rules check.
func writeFileProblems(w io.Writer, list []wire.FileProblem) {
	if len(list) > 0 {
		fmt.Fprintln(w, "\nNot in force, because of their files:")
	}
	for _, p := range list {
		place := p.File
		if p.Line > 0 {
			place += fmt.Sprintf(":%d:%d", p.Line, p.Col)
		}
		fmt.Fprintf(w, "  %s: %s: %s\n", place, p.Code, p.Message)
		if p.Hint != "" {
			fmt.Fprintf(w, "      %s\n", p.Hint)
		}
	}
}

// writeRule writes one rule.
func writeRule(w io.Writer, r *wire.RuleForm, now time.Time) {
	fmt.Fprintln(w, r.ID)
	file := r.File
	if r.Stale {
		file += " (it is bad: this is the last good version)"
	}
	section(w, 11, [][2]string{
		{"title", r.Title}, {"description", terminal.OneLine(r.Description)}, {"owner", r.Owner}, {"runbook", r.RunbookURL}, {"file", file}, {"source", r.Source}, {"mode", r.Mode}, {"type", r.Type},
	})
	for i := range r.Scopes {
		s := &r.Scopes[i]
		fmt.Fprintln(w)
		if s.Scope != "" {
			fmt.Fprintf(w, "Scope %s\n", s.Scope)
		}
		section(w, 11, [][2]string{
			{"health", healthText(r, s)},
			{"reason", terminal.OneLine(s.Reason)},
			{"switch", switchText(s.Switch)},
			{"by its file", map[bool]string{true: "enabled", false: "disabled"}[s.FileEnabled]},
			{"schedule", s.Cron + " " + s.Timezone},
			{"next firing", at(s.NextDue, now)},
			{"last run", lastRunText(s.LastRun)},
			{"findings", fmt.Sprintf("%d firing, %d pending", s.Firing, s.Pending)},
			{"warnings", strings.Join(s.Warnings, "; ")},
		})
	}
}

func writeRuns(w io.Writer, width int, list []wire.RuleRunForm) {
	if len(list) == 0 {
		fmt.Fprintln(w, "The rule has not run.")
		return
	}
	header := []string{"DUE", "SCOPE", "OUTCOME", "TOOK", "ROWS", "FIRING", "PENDING", "NOTICES", "NODE", "ERROR"}
	rows := make([][]string, len(list))
	for i := range list {
		r := &list[i]
		rows[i] = []string{
			stamp(r.Due), orDash(r.Scope), r.Outcome, (time.Duration(r.DurationMS) * time.Millisecond).String(), strconv.Itoa(r.Rows),
			strconv.Itoa(r.Firing), strconv.Itoa(r.Pending), strconv.Itoa(r.Notices), r.Node, orDash(terminal.OneLine(r.Error)),
		}
	}
	terminal.Spread(w, width, header, rows, header[:8])
}

// priorityOf returns the priority of the finding's last notice. A finding without a notice has none.
func priorityOf(f *wire.OpenFindingForm) string {
	if f.Priority == 0 {
		return terminal.Nothing
	}
	return strconv.Itoa(f.Priority)
}

func writeFindings(w io.Writer, width int, form *wire.FindingsForm) {
	if len(form.Findings) == 0 {
		fmt.Fprintln(w, "There are no open findings.")
		return
	}
	header := []string{"KEY", "SCOPE", "STATE", "SINCE", "PRIORITY", "LAST NOTICE", "ABSENT SINCE", "GROUP", "WITHHELD"} // Key and scope come first, because rules why takes them as arguments.
	rows := make([][]string, len(form.Findings))
	for i := range form.Findings {
		f := &form.Findings[i]
		rows[i] = []string{terminal.JSONLine(f.Key), orDash(f.Scope), f.State, stamp(f.Since), priorityOf(f), when(f.LastNotified), when(f.AbsentSince), orDash(f.Group), orDash(f.Withheld)}
	}
	terminal.Spread(w, width, header, rows, header[:6])
	if form.Total > len(form.Findings) {
		fmt.Fprintf(w, "There are %d; --limit shows more.\n", form.Total)
	}
}
