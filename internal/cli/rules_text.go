package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/wire"
)

// writeRules writes a line for each rule in each scope, and what holds for all.
func writeRules(w io.Writer, width int, form *wire.RulesForm, now time.Time) {
	if form.Paused != nil {
		fmt.Fprintf(w, "Every rule is stopped%s.\n\n", switchedBy(form.Paused))
	}
	header := []string{"RULE", "SCOPE", "HEALTH", "FIRING", "PENDING", "NEXT", "LAST RUN", "SWITCH"}
	var rows [][]string
	for i := range form.Rules {
		r := &form.Rules[i]
		for j := range r.Scopes {
			s := &r.Scopes[j]
			rows = append(rows, []string{
				r.ID, orDash(s.Scope), healthText(r, s), strconv.Itoa(s.Firing), strconv.Itoa(s.Pending), orDash(soon(s.NextDue, now)), orDash(lately(s.LastRun, now)), orDash(switchText(s.Switch)),
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
		fmt.Fprintf(w, "\nThe switch of %s%s is about a rule that no file has; tallyman rules clear %s%s takes it away.\n", s.Rule, within(scope), s.Rule, flag)
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

// soon is how long it is until then.
func soon(t *time.Time, now time.Time) string {
	switch {
	case t == nil:
		return ""
	case t.After(now):
		return "in " + until(*t, now)
	}
	return "due"
}

// lately is how a run ended, and how long ago it was due.
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

// switchText writes a switch in few words.
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

// switchedBy says who threw a switch, why and for how long.
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

// writeFileProblems writes what is wrong with rule files, as the rules check does.
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
	section(w, [][2]string{
		{"title", r.Title}, {"description", terminal.OneLine(r.Description)}, {"owner", r.Owner}, {"runbook", r.RunbookURL}, {"file", file}, {"source", r.Source}, {"mode", r.Mode}, {"type", r.Type},
	})
	for i := range r.Scopes {
		s := &r.Scopes[i]
		fmt.Fprintln(w)
		if s.Scope != "" {
			fmt.Fprintf(w, "Scope %s\n", s.Scope)
		}
		section(w, [][2]string{
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
		fmt.Fprintln(w, "It has not run.")
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

func writeFindings(w io.Writer, width int, form *wire.FindingsForm) {
	if len(form.Findings) == 0 {
		fmt.Fprintln(w, "There are no open findings.")
		return
	}
	header := []string{"KEY", "SCOPE", "STATE", "SINCE", "PRIORITY", "LAST TOLD", "ABSENT SINCE", "GROUP"} // key and scope are what why is asked with
	rows := make([][]string, len(form.Findings))
	for i := range form.Findings {
		f := &form.Findings[i]
		told, absent := terminal.Nothing, terminal.Nothing
		if f.LastNotified != nil {
			told = stamp(*f.LastNotified)
		}
		if f.AbsentSince != nil {
			absent = stamp(*f.AbsentSince)
		}
		rows[i] = []string{terminal.JSONLine(f.Key), orDash(f.Scope), f.State, stamp(f.Since), strconv.Itoa(f.Priority), told, absent, orDash(f.Group)}
	}
	terminal.Spread(w, width, header, rows, header[:6])
	if form.Total > len(form.Findings) {
		fmt.Fprintf(w, "There are %d; --limit shows more.\n", form.Total)
	}
}

// writeSwitched says how the rule is in each scope after a switch, and which scopes have one of their own.
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
