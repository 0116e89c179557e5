package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tallyman/engine/trial/rulediff"
	"tallyman/internal/cli/terminal"
)

// kind is a kind of finding in the comparison.
type kind struct {
	name string
	rare bool // shown only where there are any
	of   func(e *rulediff.Effect) *rulediff.Keys
}

// kinds are in the order in which they matter.
var kinds = []kind{
	{"fire", false, func(e *rulediff.Effect) *rulediff.Keys { return &e.Fire }},
	{"wait", true, func(e *rulediff.Effect) *rulediff.Keys { return &e.Pend }},
	{"resolve", false, func(e *rulediff.Effect) *rulediff.Keys { return &e.Resolve }},
	{"keep", true, func(e *rulediff.Effect) *rulediff.Keys { return &e.Keep }},
	{"drop", true, func(e *rulediff.Effect) *rulediff.Keys { return &e.Drop }},
	{"told again", false, func(e *rulediff.Effect) *rulediff.Keys { return &e.Again }},
	{"unchanged", false, func(e *rulediff.Effect) *rulediff.Keys { return &e.Unchanged }},
}

// quiet tells that a change does nothing to the findings of the scope.
func quiet(r rulediff.Rule) bool {
	if r.Effect == nil {
		return false
	}
	for _, k := range kinds {
		if k.name != "unchanged" && k.of(r.Effect).Count > 0 {
			return false
		}
	}
	return true
}

// fewScopes are all shown; of more, those in which nothing happens are one line.
const fewScopes = 3

// effects shows what the change does to the findings in each scope.
func (t *diffText) effects(scopes []rulediff.Rule) {
	if !t.d.Ran {
		return
	}
	var rows [][]string
	var shown []kind
	for _, k := range kinds {
		some := func(r rulediff.Rule) bool { return r.Effect != nil && k.of(r.Effect).Count > 0 }
		if !k.rare || slices.ContainsFunc(scopes, some) {
			shown = append(shown, k)
		}
	}
	still, unchanged := 0, 0
	for _, s := range scopes {
		if len(scopes) > fewScopes && quiet(s) {
			still++
			unchanged += s.Effect.Unchanged.Count
			continue
		}
		if s.Effect != nil && (s.Old != nil || s.New != nil) {
			rows = append(rows, effectRow(s, shown))
		}
	}
	if len(rows) > 0 {
		header := []string{"scope", "matching"}
		for _, k := range shown {
			header = append(header, k.name)
		}
		if len(scopes) == 1 && scopes[0].Scope == "" { // nothing to tell apart
			header, rows[0] = header[1:], rows[0][1:]
		}
		terminal.Grid(t, t.width, "    ", header, rows)
	}
	if still > 0 {
		t.line("    %s without a change (%s)", count(still, "more scope"), count(unchanged, "finding"))
	}
	for _, s := range scopes {
		t.details(s)
	}
}

func effectRow(r rulediff.Rule, shown []kind) []string {
	row := []string{r.Scope, matching(r.Old) + " → " + matching(r.New)}
	for _, k := range shown {
		row = append(row, strconv.Itoa(k.of(r.Effect).Count))
	}
	return row
}

// matching is how many rows a version's condition is met by.
func matching(s *rulediff.Side) string {
	if s == nil {
		return "–"
	}
	return strconv.Itoa(s.Matched)
}

// details are what the table has no room for: why a version would not run, and the keys.
func (t *diffText) details(r rulediff.Rule) {
	in := ""
	if r.Scope != "" {
		in = " in " + r.Scope
	}
	for _, side := range []struct {
		name string
		*rulediff.Side
	}{{"old", r.Old}, {"new", r.New}} {
		if side.Side != nil && side.Error != "" {
			terminal.Wrap(t, t.width, "    ! ", "the "+side.name+" version"+in+": "+side.Error)
		}
	}
	printProblems(t, r.Faults)
	if r.Effect == nil {
		return
	}
	for _, k := range kinds {
		keys := k.of(r.Effect)
		if k.name == "unchanged" || keys.Count == 0 {
			continue
		}
		text := strings.Join(keys.Keys, " ")
		if more := keys.Count - len(keys.Keys); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		terminal.Wrap(t, t.width, "    "+k.name+in+": ", text)
	}
}

// sumOf is the effect in a line.
func sumOf(e *rulediff.Effect) string {
	var parts []string
	for _, k := range kinds {
		if k.rare && k.of(e).Count == 0 {
			continue
		}
		parts = append(parts, fmt.Sprintf("%d %s", k.of(e).Count, k.name))
	}
	return strings.Join(parts, ", ")
}
