package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tallyman/engine/rulediff"
)

// diffText writes a comparison for people.
type diffText struct {
	io.Writer
	width int
	d     *rulediff.Diff
}

func writeDiff(w io.Writer, width int, d *rulediff.Diff) {
	t := &diffText{w, width, d}
	for i := 0; i < len(d.Rules); {
		k := i + 1 // the scopes that differ in the same way stand together
		for k < len(d.Rules) && alike(d.Rules[i], d.Rules[k]) {
			k++
		}
		if i > 0 {
			t.line("")
		}
		t.rule(d.Rules[i:k])
		i = k
	}
	t.sum()
}

func (t *diffText) line(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }

func alike(a, b rulediff.Rule) bool {
	return a.ID == b.ID && a.Status == b.Status && slices.Equal(a.Changes, b.Changes) && slices.Equal(a.Warns, b.Warns)
}

// rule shows a rule in the scopes in which it differs in the same way.
func (t *diffText) rule(scopes []rulediff.Rule) {
	r := scopes[0]
	sign := map[rulediff.Status]string{rulediff.Added: "+", rulediff.Removed: "-", rulediff.Changed: "~"}[r.Status]
	var names []string
	for _, s := range scopes {
		if s.Scope != "" {
			names = append(names, s.Scope)
		}
	}
	wrapped(t, t.width, sign+" ", strings.TrimSpace(fmt.Sprintf("%s (%s) %s", r.ID, r.Status, strings.Join(names, ", "))))
	t.changes(r.Changes)
	for _, w := range r.Warns {
		wrapped(t, t.width, "    ! ", w)
	}
	for _, s := range scopes {
		t.effect(s)
	}
}

// changes lists the fields. What has several lines is shown line by line.
func (t *diffText) changes(list []rulediff.Change) {
	widest := 0
	for _, c := range list {
		if !long(c) {
			widest = max(widest, min(len(c.Field), 24))
		}
	}
	for _, c := range list {
		if !long(c) {
			wrapped(t, t.width, fmt.Sprintf("    %-*s  ", widest, c.Field), written(c.Old)+" → "+written(c.New))
			continue
		}
		t.line("    %s", c.Field)
		for _, l := range lineDiff(lines(c.Old), lines(c.New)) {
			t.line("      %s", fit(l, t.width-6))
		}
	}
}

func long(c rulediff.Change) bool { return strings.Contains(c.Old+c.New, "\n") }

func written(value string) string {
	if value == "" {
		return "(not set)"
	}
	return value
}

func lines(text string) []string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// lineDiff marks the lines that went with - and those that came with +.
func lineDiff(old, now []string) []string {
	common := make([][]int, len(old)+1) // lengths of the longest common rest
	for i := range common {
		common[i] = make([]int, len(now)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for k := len(now) - 1; k >= 0; k-- {
			if common[i][k] = max(common[i+1][k], common[i][k+1]); old[i] == now[k] {
				common[i][k] = common[i+1][k+1] + 1
			}
		}
	}
	var out []string
	i, k := 0, 0
	for i < len(old) || k < len(now) {
		switch {
		case i < len(old) && k < len(now) && old[i] == now[k]:
			out = append(out, "  "+old[i])
			i, k = i+1, k+1
		case k == len(now) || i < len(old) && common[i+1][k] >= common[i][k+1]:
			out = append(out, "- "+old[i])
			i++
		default:
			out = append(out, "+ "+now[k])
			k++
		}
	}
	return out
}

// effect shows what the change does in one scope.
func (t *diffText) effect(r rulediff.Rule) {
	if !t.d.Ran {
		return
	}
	in := ""
	if r.Scope != "" {
		in = r.Scope + ": "
	}
	for _, side := range []struct {
		name string
		*rulediff.Side
	}{{"old", r.Old}, {"new", r.New}} {
		if side.Side != nil && side.Error != "" {
			wrapped(t, t.width, "    ! ", in+"the "+side.name+" version: "+side.Error)
		}
	}
	printProblems(t, r.Faults)
	if r.Effect == nil {
		return
	}
	wrapped(t, t.width, "    ", in+matchedRows(r)+effectLine(r.Effect, r.Mode)+base(r))
	for _, k := range kinds(r.Effect, r.Mode) {
		if k.name != "unchanged" && k.Count > 0 {
			t.keys(k)
		}
	}
}

func matchedRows(r rulediff.Rule) string {
	count := func(s *rulediff.Side) string {
		if s == nil {
			return "–"
		}
		return fmt.Sprint(s.Matched)
	}
	return fmt.Sprintf("%s → %s rows match; ", count(r.Old), count(r.New))
}

// base says from which state both versions were run.
func base(r rulediff.Rule) string {
	switch {
	case r.From == rulediff.FromOld:
		return " (as if the old version had told all that it finds)"
	case r.From == rulediff.FromLedger:
		return " (from the ledger's state)"
	}
	return ""
}

// kind is a kind of finding in the comparison.
type kind struct {
	name string
	rulediff.Keys
}

func kinds(e *rulediff.Effect, mode string) []kind {
	if mode == "event" {
		return []kind{{"newly told", e.Fire}, {"not told", e.Drop}, {"resolve", e.Resolve}, {"unchanged", e.Unchanged}}
	}
	list := []kind{{"newly fire", e.Fire}, {"newly wait", e.Pend}, {"resolve", e.Resolve}}
	if e.Drop.Count > 0 {
		list = append(list, kind{"stop waiting", e.Drop})
	}
	return append(list, kind{"unchanged", e.Unchanged}, kind{"told again", e.Again})
}

func effectLine(e *rulediff.Effect, mode string) string {
	var parts []string
	for _, k := range kinds(e, mode) {
		parts = append(parts, fmt.Sprintf("%d %s", k.Count, k.name))
	}
	return strings.Join(parts, ", ")
}

func (t *diffText) keys(k kind) {
	text := strings.Join(k.Keys.Keys, " ")
	if more := k.Count - len(k.Keys.Keys); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	wrapped(t, t.width, fmt.Sprintf("      %-12s ", k.name), text)
}

func (t *diffText) sum() {
	d := t.d
	if len(d.Rules) == 0 {
		t.line("No difference: %s alike", count(d.Same, "rule"))
		return
	}
	n := map[rulediff.Status]int{}
	for _, r := range d.Rules {
		n[r.Status]++
	}
	t.line("\n%d changed, %d added, %d removed, %d alike (each scope counted)", n[rulediff.Changed], n[rulediff.Added], n[rulediff.Removed], d.Same)
	if !d.Ran {
		t.line("Only the files were compared; --source runs both versions and compares the findings")
		return
	}
	t.line("In sum: %s", effectLine(d.Sum, ""))
	if d.Failing > 0 {
		t.line("%s would fail", count(d.Failing, "rule"))
	}
}
