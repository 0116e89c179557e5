package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tallyman/engine/trial/rulediff"
	"tallyman/internal/cli/terminal"
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
	terminal.Wrap(t, t.width, sign+" ", strings.TrimSpace(fmt.Sprintf("%s (%s) %s", r.ID, r.Status, strings.Join(names, ", "))))
	t.changes(r.Changes)
	for _, w := range r.Warns {
		terminal.Wrap(t, t.width, "    ! ", w)
	}
	t.effects(scopes)
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
			terminal.Wrap(t, t.width, fmt.Sprintf("    %-*s  ", widest, c.Field), written(c.Old)+" → "+written(c.New))
			continue
		}
		t.line("    %s", c.Field)
		for _, l := range lineDiff(lines(c.Old), lines(c.New)) {
			t.line("      %s", terminal.Fit(l, t.width-6))
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

// mostCompared bounds what two texts cost: of longer ones all lines went, and all came.
const mostCompared = 1_000_000

// lineDiff marks the lines that went with - and those that came with +.
func lineDiff(old, now []string) []string {
	var out []string
	if len(old)*len(now) > mostCompared {
		for _, l := range old {
			out = append(out, "- "+l)
		}
		for _, l := range now {
			out = append(out, "+ "+l)
		}
		return out
	}
	common := make([][]int, len(old)+1) // lengths of the longest common rest
	for i := range common {
		common[i] = make([]int, len(now)+1)
	}
	for i, before := range slices.Backward(old) {
		for k, after := range slices.Backward(now) {
			if common[i][k] = max(common[i+1][k], common[i][k+1]); before == after {
				common[i][k] = common[i+1][k+1] + 1
			}
		}
	}
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
	t.line("In sum: %s", sumOf(d.Sum))
	t.starts()
	if d.Failing > 0 {
		t.line("%s would fail", count(d.Failing, "rule"))
	}
}

// starts says from which states the versions were run.
func (t *diffText) starts() {
	ledger, old := 0, 0
	for _, r := range t.d.Rules {
		switch r.From {
		case rulediff.FromLedger:
			ledger++
		case rulediff.FromOld:
			old++
		}
	}
	if ledger > 0 {
		terminal.Wrap(t, t.width, "", fmt.Sprintf("Of %s both versions went on from the state in the ledger", count(ledger, "rule")))
	}
	if old > 0 {
		why := "which the ledger does not know"
		if t.d.NoLedger != "" {
			why = "since no ledger is in reach (" + t.d.NoLedger + ")"
		}
		terminal.Wrap(t, t.width, "", fmt.Sprintf("Of %s, %s, both went on as if the old version had told all that it finds", count(old, "rule"), why))
	}
}
