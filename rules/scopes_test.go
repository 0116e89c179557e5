package rules_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tallyman/rules"
	"tallyman/rules/scopelist"
)

const queriedRule = `version: 1
rules:
  - id: low-stock
    schedule: {cron: "0 6 * * *", timezone: Asia/Shanghai}
    scopes: {source: wms, sql: SELECT id AS name FROM warehouses}
    source: wms
    probe:
      sql: SELECT bin FROM stock WHERE wh = :scope AND qty < :threshold AND zone = :zone
      params: {threshold: 10, zone: null}
    key: [bin]
    notice: {type: REP_NOTICE, title: Low}
    deliver: [{sink: inbox}]
  - id: plain
    schedule: {cron: "0 6 * * *"}
    source: wms
    probe: {sql: "SELECT bin, wh FROM stock"}
    key: [bin]
    notice: {type: REP_NOTICE, warehouse: wh, title: Low}
    deliver: [{sink: inbox}]
`

func queried(t *testing.T, change ...string) []*rules.Rule {
	t.Helper()
	set := rules.LoadFile("rule.yaml", []byte(strings.NewReplacer(change...).Replace(queriedRule)))
	if err := set.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	return set.Rules
}

// shown is a rule in a scope, in a line.
func shownScopes(list []*rules.Rule) string {
	var lines []string
	for _, r := range list {
		lines = append(lines, fmt.Sprintf("%s %q %s %v %v %s", r.ID, r.Scope, r.Schedule.Timezone, r.Schedule.Jitter, r.Probe.Params, r.Placeholder))
	}
	return strings.Join(lines, "\n")
}

func TestExpand(t *testing.T) {
	t.Parallel()
	list := queried(t)
	if got := shownScopes(list); !strings.HasPrefix(got, `low-stock "SCOPE" Asia/Shanghai 30s map[threshold:10 zone:<nil>] made_up`) {
		t.Errorf("as written:\n%s", got)
	}
	for _, c := range []struct {
		lists map[string]scopelist.List
		want  string
	}{
		{nil, `low-stock "" Asia/Shanghai 30s map[threshold:10 zone:<nil>] waiting`},
		{map[string]scopelist.List{"low-stock": {}}, `low-stock "" Asia/Shanghai 30s map[threshold:10 zone:<nil>] nowhere`},
		{map[string]scopelist.List{"low-stock": {
			{Name: "1"}, {Name: "2", Timezone: "Europe/Berlin", Params: map[string]any{"threshold": int64(5), "zone": "A", "gone": "x"}},
		}}, `low-stock "1" Asia/Shanghai 30s map[threshold:10 zone:<nil>] 
low-stock "2" Europe/Berlin 30s map[threshold:5 zone:A] `},
	} {
		got, problems := rules.Expand(list, c.lists)
		if shown, want := shownScopes(got), c.want+"\nplain \"\" UTC 30s map[] "; shown != want || len(problems) > 0 {
			t.Errorf("%v\n%s\nwant\n%s", problems, shown, want)
		}
	}
	if got := shownScopes(list); !strings.Contains(got, "made_up") {
		t.Errorf("the list has become\n%s", got)
	}
}

// TestExpandedChecksums checks that the checksum of a scope stays the same until its rule or its entry in the list
// changes.
func TestExpandedChecksums(t *testing.T) {
	t.Parallel()
	sums := func(list []*rules.Rule, l scopelist.List) (sums []string) {
		expanded, _ := rules.Expand(list[:1], map[string]scopelist.List{"low-stock": l})
		for _, r := range expanded {
			sums = append(sums, r.Checksum)
		}
		return sums
	}
	before := sums(queried(t), scopelist.List{{Name: "1"}, {Name: "2"}})
	same := sums(queried(t), scopelist.List{{Name: "1"}, {Name: "2", Params: map[string]any{"threshold": int64(4)}}, {Name: "3"}})
	if before[0] != same[0] || before[1] == same[1] || before[0] == before[1] {
		t.Errorf("%v, %v", before, same)
	}
	if other := sums(queried(t, "threshold: 10", "threshold: 11"), scopelist.List{{Name: "1"}}); other[0] == before[0] {
		t.Error("another rule means the same")
	}
	if slices.Equal(sums(queried(t), nil), sums(queried(t), scopelist.List{{Name: "1"}})) {
		t.Error("a rule that waits means the same as one in a scope")
	}
}

// TestExpandFails checks that a rule whose scopes cannot be made waits, and that other rules stay.
func TestExpandFails(t *testing.T) {
	t.Parallel()
	many := make(scopelist.List, scopelist.Most+1)
	for i := range many {
		many[i].Name = fmt.Sprint(i)
	}
	for code, l := range map[string]scopelist.List{rules.CodeBadTimezone: {{Name: "1", Timezone: "Mars/Base"}}, rules.CodeTooMany: many} {
		got, problems := rules.Expand(queried(t), map[string]scopelist.List{"low-stock": l})
		if len(problems) != 1 || problems[0].Code != code || problems[0].Line != 5 || len(got) != 2 || got[0].Placeholder != rules.Waiting {
			t.Errorf("%s: %v, %d rules", code, problems, len(got))
		}
	}
}

// TestQuestion checks that the question changes with the query and the parameters, and with nothing else.
func TestQuestion(t *testing.T) {
	t.Parallel()
	question := func(change ...string) string { return queried(t, change...)[0].Question() }
	base := question()
	for _, change := range [][2]string{{"threshold: 10", "threshold: 11"}, {"0 6 * * *", "0 7 * * *"}, {"title: Low", "title: High"}} {
		if question(change[0], change[1]) != base {
			t.Errorf("%v is another question", change)
		}
	}
	for _, change := range [][2]string{{"SELECT id AS", "SELECT code AS"}, {"threshold: 10", "threshold: 1.5"}, {"threshold", "least"}, {"source: wms, sql", "source: erp, sql"}} {
		if question(change[0], change[1]) == base {
			t.Errorf("%v is the same question", change)
		}
	}
}

// TestReachOfPlaceholders checks that a waiting rule may send notices in any warehouse, and a rule that runs nowhere in
// none.
func TestReachOfPlaceholders(t *testing.T) {
	t.Parallel()
	list := queried(t)[:1]
	for _, c := range []struct {
		lists       map[string]scopelist.List
		typ, inside bool
	}{
		{nil, true, true},
		{map[string]scopelist.List{"low-stock": {}}, false, false},
		{map[string]scopelist.List{"low-stock": {{Name: "1"}}}, true, true},
		{map[string]scopelist.List{"low-stock": {{Name: "2"}}}, true, false},
	} {
		expanded, _ := rules.Expand(list, c.lists)
		typ, inside := rules.NewReach(expanded).Subscription("REP_NOTICE", "1")
		if !reflect.DeepEqual([]bool{typ, inside}, []bool{c.typ, c.inside}) {
			t.Errorf("%v: %t %t", c.lists, typ, inside)
		}
	}
}

// BenchmarkExpand expands a rule into the scopes of a large chain of warehouses.
func BenchmarkExpand(b *testing.B) {
	set := rules.LoadFile("rule.yaml", []byte(queriedRule))
	l := make(scopelist.List, 30_000)
	for i := range l {
		l[i] = scopelist.Scope{Name: fmt.Sprintf("%05d", i), Timezone: "Asia/Shanghai", Params: map[string]any{"threshold": int64(i)}}
	}
	for b.Loop() {
		_, _ = rules.Expand(set.Rules, map[string]scopelist.List{"low-stock": l})
	}
}

// Scopes of a file share a program where they differ only in their names and in the values of parameters.
func TestScopesOfAFileAreKin(t *testing.T) {
	t.Parallel()
	const listed = "scopes: {source: wms, sql: SELECT id AS name FROM warehouses}"
	list := queried(t, listed, `scopes:
      - {name: a}
      - {name: b, params: {threshold: 20}}
      - {name: c, params: {threshold: "20"}}
      - {name: d, timezone: Europe/Berlin}
      - {name: e, overrides: {when: qty < 5}}`, "SELECT bin FROM", "SELECT bin, qty FROM")
	kin := map[string]string{}
	for _, r := range list {
		kin[r.ID+r.Scope] = r.Kin
	}
	if kin["plain"] != "" || kin["low-stocka"] == "" || kin["low-stocka"] != kin["low-stockb"] {
		t.Errorf("the first two scopes are kin, a rule without scopes has none: %v", kin)
	}
	seen := map[string]bool{}
	for _, scope := range []string{"a", "c", "d", "e"} {
		if seen[kin["low-stock"+scope]] {
			t.Errorf("%s is kin of one that differs: %v", scope, kin)
		}
		seen[kin["low-stock"+scope]] = true
	}
}
