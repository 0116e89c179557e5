package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/engine/trial/rulediff"
	"tallyman/internal/authoring"
	"tallyman/internal/cli/terminal"
	"tallyman/internal/config"
)

// ownSource is the value of --source without a name: each rule runs on its own source.
const ownSource = "own"

func (c ruleCommands) diff() *cobra.Command {
	var o authoring.DiffOptions
	var scope, source string
	cmd := c.withConfig(&cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Compare two versions of rule files, and the effect on the findings; writes nothing",
		Long: `Compare two versions of rule files or folders, rule by rule: new rules, removed rules, and fields that differ.

With --source the command runs both versions of each rule that differs, over one snapshot of the database and from the same state. The
state is that of the configured ledger. If no ledger is in reach, the command assumes that all findings of the old version have their
notices. Then the command compares the findings: which would newly fire, newly wait, resolve, stay, and be notified again.

Differences are no failure: the exit code is 0. The exit code is 1 if a file has problems, or if the new version of a rule
would not run.`,
		Example: `  tallyman rules diff rules/stock.yaml stock-new.yaml
  tallyman rules diff rules/ new/ --source --config site.yaml
  tallyman rules diff rules/ new/ --source=pilot --rule negative-bin-stock`,
		Args: diffTakes,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Old, o.New = args[:1], args[1:]
			if cmd.Flags().Changed("scope") {
				o.Scope = &scope
			}
			if o.Run = cmd.Flags().Changed("source"); source != ownSource {
				o.Source = source
			}
			return c.diffRules(cmd, o)
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&source, "source", "", "run both versions on the source of each rule, or with --source=NAME on that source")
	flags.Lookup("source").NoOptDefVal = ownSource
	flags.StringVar(&o.Rule, "rule", "", "only the rule with this id")
	flags.StringVar(&scope, "scope", "", "only this scope")
	flags.IntVar(&o.Limit, "rows", 5, "how many keys of each kind are shown; 0 = all")
	return cmd
}

func (c ruleCommands) diffRules(cmd *cobra.Command, o authoring.DiffOptions) error {
	if o.Limit < 0 {
		return usage("--rows takes 0 or more")
	}
	var cfg *config.Config
	if o.Run {
		var err error
		if cfg, err = c.lazyConfig(); err != nil {
			return err
		}
	}
	d, err := c.services.DiffRules(cmd.Context(), cfg, o)
	if err != nil {
		return err
	}
	if err := c.print(d, func(w io.Writer) { writeDiff(w, c.width(), d) }); err != nil {
		return err
	}
	return failing(d)
}

// diffText writes a comparison for people.
type diffText struct {
	terminal.Page
	d *rulediff.Diff
}

func writeDiff(w io.Writer, width int, d *rulediff.Diff) {
	t := &diffText{terminal.Page{Writer: w, Width: width}, d}
	for i := 0; i < len(d.Rules); {
		k := i + 1 // Scopes with the same differences are shown together.
		for k < len(d.Rules) && alike(d.Rules[i], d.Rules[k]) {
			k++
		}
		if i > 0 {
			t.Line("")
		}
		t.rule(d.Rules[i:k])
		i = k
	}
	t.sum()
}

func alike(a, b rulediff.Rule) bool {
	return a.ID == b.ID && a.Status == b.Status && slices.Equal(a.Changes, b.Changes) && slices.Equal(a.Warns, b.Warns)
}

// rule writes a rule with the scopes that have the same differences.
func (t *diffText) rule(scopes []rulediff.Rule) {
	r := scopes[0]
	sign := map[rulediff.Status]string{rulediff.Added: "+", rulediff.Removed: "-", rulediff.Changed: "~"}[r.Status]
	var names []string
	for _, s := range scopes {
		if s.Scope != "" {
			names = append(names, s.Scope)
		}
	}
	t.Wrap(sign+" ", strings.TrimSpace(fmt.Sprintf("%s (%s) %s", r.ID, r.Status, strings.Join(names, ", "))))
	t.changes(r.Changes)
	for _, w := range r.Warns {
		t.Wrap("    ! ", w)
	}
	t.effects(scopes)
}

// changes writes the changed fields. A value with several lines is compared line by line.
func (t *diffText) changes(list []rulediff.Change) {
	widest := 0
	for _, c := range list {
		if !long(c) {
			widest = max(widest, min(len(c.Field), 24))
		}
	}
	for _, c := range list {
		if !long(c) {
			t.Wrap(fmt.Sprintf("    %-*s  ", widest, c.Field), written(c.Old)+" → "+written(c.New))
			continue
		}
		t.Line("    %s", c.Field)
		for _, l := range lineDiff(lines(c.Old), lines(c.New)) {
			t.Line("      %s", terminal.Fit(l, t.Width-6))
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

// mostCompared limits the cost of a comparison, as the product of both numbers of lines. In longer texts all old lines
// count as removed and all new lines as added.
const mostCompared = 1_000_000

// lineDiff marks removed lines with - and added lines with +.
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
	common := make([][]int, len(old)+1) // lengths of the longest common subsequence of the remaining lines
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
		t.Line("No difference: %s alike", count(d.Same, "rule"))
		return
	}
	n := map[rulediff.Status]int{}
	for _, r := range d.Rules {
		n[r.Status]++
	}
	t.Line("\n%d changed, %d added, %d removed, %d alike (each scope counted)", n[rulediff.Changed], n[rulediff.Added], n[rulediff.Removed], d.Same)
	if !d.Ran {
		t.Line("Only the files were compared; --source runs both versions and compares the findings")
		return
	}
	t.Line("In sum: %s", sumOf(d.Sum))
	t.starts()
	if d.Failing > 0 {
		t.Line("%s would fail", count(d.Failing, "rule"))
	}
}

// starts writes the state from which the versions ran.
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
		t.Wrap("", fmt.Sprintf("Of %s both versions went on from the state in the ledger", count(ledger, "rule")))
	}
	if old > 0 {
		why := "which the ledger does not know"
		if t.d.NoLedger != "" {
			why = "since no ledger is in reach (" + t.d.NoLedger + ")"
		}
		t.Wrap("", fmt.Sprintf("For %s both versions were compared as if all findings of the old version had their notices, %s", count(old, "rule"), why))
	}
}

// failing returns an error if the new version of a rule would not run.
func failing(d *rulediff.Diff) error {
	if d.Failing > 0 {
		return found()
	}
	return nil
}

// effectKind is a kind of effect on findings.
type effectKind struct {
	name string
	rare bool // shown only where there are any
	of   func(e *rulediff.Effect) *rulediff.Keys
}

// effectKinds has the kinds of effects, the most important first.
var effectKinds = []effectKind{
	{"fire", false, func(e *rulediff.Effect) *rulediff.Keys { return &e.Fire }},
	{"wait", true, func(e *rulediff.Effect) *rulediff.Keys { return &e.Pend }},
	{"resolve", false, func(e *rulediff.Effect) *rulediff.Keys { return &e.Resolve }},
	{"keep", true, func(e *rulediff.Effect) *rulediff.Keys { return &e.Keep }},
	{"drop", true, func(e *rulediff.Effect) *rulediff.Keys { return &e.Drop }},
	{"notified again", false, func(e *rulediff.Effect) *rulediff.Keys { return &e.Again }},
	{"unchanged", false, func(e *rulediff.Effect) *rulediff.Keys { return &e.Unchanged }},
}

// quiet tells whether a change has no effect on the findings of the scope.
func quiet(r rulediff.Rule) bool {
	if r.Effect == nil {
		return false
	}
	for _, k := range effectKinds {
		if k.name != "unchanged" && k.of(r.Effect).Count > 0 {
			return false
		}
	}
	return true
}

// fewScopes is the number of scopes up to which all scopes are shown. If there are more, the scopes without an effect
// share one line.
const fewScopes = 3

// effects writes the effects on the findings of each scope.
func (t *diffText) effects(scopes []rulediff.Rule) {
	if !t.d.Ran {
		return
	}
	var rows [][]string
	var shown []effectKind
	for _, k := range effectKinds {
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
		if len(scopes) == 1 && scopes[0].Scope == "" { // A single scope needs no name.
			header, rows[0] = header[1:], rows[0][1:]
		}
		t.Grid("    ", header, rows)
	}
	if still > 0 {
		t.Line("    %s without a change (%s)", count(still, "more scope"), count(unchanged, "finding"))
	}
	for _, s := range scopes {
		t.details(s)
	}
}

func effectRow(r rulediff.Rule, shown []effectKind) []string {
	row := []string{r.Scope, matching(r.Old) + " → " + matching(r.New)}
	for _, k := range shown {
		row = append(row, strconv.Itoa(k.of(r.Effect).Count))
	}
	return row
}

// matching returns the number of rows that meet the condition of a version.
func matching(s *rulediff.Side) string {
	if s == nil {
		return "–"
	}
	return strconv.Itoa(s.Matched)
}

// details writes what the table has no room for: why a version would not run, and the keys.
func (t *diffText) details(r rulediff.Rule) {
	in := within(r.Scope)
	for _, side := range []struct {
		name string
		*rulediff.Side
	}{{"old", r.Old}, {"new", r.New}} {
		if side.Side != nil && side.Error != "" {
			t.Wrap("    ! ", "the "+side.name+" version"+in+": "+side.Error)
		}
	}
	printProblems(t, r.Faults)
	if r.Effect == nil {
		return
	}
	for _, k := range effectKinds {
		keys := k.of(r.Effect)
		if k.name == "unchanged" || keys.Count == 0 {
			continue
		}
		text := strings.Join(keys.Keys, " ")
		if more := keys.Count - len(keys.Keys); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		t.Wrap("    "+k.name+in+": ", text)
	}
}

// sumOf returns the effects in one line.
func sumOf(e *rulediff.Effect) string {
	var parts []string
	for _, k := range effectKinds {
		if k.rare && k.of(e).Count == 0 {
			continue
		}
		parts = append(parts, fmt.Sprintf("%d %s", k.of(e).Count, k.name))
	}
	return strings.Join(parts, ", ")
}
