package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
	"tallyman/rules/message"
)

// speaking is a catalogue whose type sets everything that a rule may leave out.
func speaking(change func(*catalog.Type)) catalog.Catalog {
	t := catalog.Type{
		Code: "T", ID: 1, Name: "T", Retention: 72 * time.Hour,
		Fields: map[string]catalog.Field{"bin": {Type: catalog.String, Required: true}, "qty": {Type: catalog.Decimal}, "at": {Type: catalog.Time}},
		Defaults: catalog.Defaults{
			Title: message.Texts{"en": "Refill {{ .bin }}", "zh": "补货 {{ .bin }}"}, Body: message.Texts{"": "{{ .qty }} since {{ .at | date \"HH:mm\" }}"},
			Priority: 4, Modal: catalog.ModalPopup, Labels: map[string]string{"area": "stock", "team": "day"},
			Deliver: []deliver.Entry{{Sink: "inbox"}, {Sink: "sms", Strategy: deliver.Delayed, Delay: time.Minute}},
		},
	}
	if change != nil {
		change(&t)
	}
	return catalog.Catalog{"T": t}
}

// typed loads a rule that leaves out everything that its type may set. others are more lines of the rule, and notice is
// the rest of its notice.
func typed(t *testing.T, notice, others string) *rules.Rule {
	t.Helper()
	s := rules.LoadFile("f.yaml", fmt.Appendf(nil, `version: 1
rules:
  - id: a
    schedule: {cron: "@hourly", timezone: Asia/Shanghai}
    source: wms
    probe: {sql: "SELECT * FROM bin_stock"}
    notice: {type: T, %s}
%s`, notice, others))
	if err := s.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	return s.Rules[0]
}

const (
	perRow   = "    key: [bin_code]\n"
	ofRow    = "warehouse: wh_id, fields: {bin: bin_code, qty: qty, at: changed_at}"
	ofResult = `warehouse: "'119240'", fields: {bin: "'all'", qty: row_count}`
)

func TestARuleTakesFromItsTypeWhatItLeavesOut(t *testing.T) {
	p, problems := rules.Compile(typed(t, ofRow, perRow), stock, speaking(nil))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	d, err := p.Clone().Draft(stockRow())
	if err != nil {
		t.Fatal(err)
	}
	const body = "-3.00 since 06:10" // in the timezone of the rule
	want := map[string]rules.Text{"": {Title: "Refill A-01", Body: body}, "en": {Title: "Refill A-01", Body: body}, "zh": {Title: "补货 A-01", Body: body}}
	if diff := cmp.Diff(want, d.Texts); diff != "" {
		t.Error(diff)
	}
	if d.Priority != 4 || d.Modal != rules.ModalPopup || d.Expires != 72*time.Hour || len(d.Deliver) != 2 {
		t.Errorf("%+v", d)
	}
	if whole := p.Rule(); whole.Labels["area"] != "stock" || len(whole.Deliver) != 2 || whole.Deliver[1].Delay != time.Minute {
		t.Errorf("%+v", whole)
	}
}

func TestARuleWinsOverItsType(t *testing.T) {
	r := typed(t, ofRow+", title: Look, priority: 2, modal: silent, expires: 1h", perRow+"    labels: {team: night}\n    deliver: [{sink: mail}]\n")
	p, problems := rules.Compile(r, stock, speaking(nil))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	d, err := p.Draft(stockRow())
	if err != nil {
		t.Fatal(err)
	}
	if d.Texts[""] != (rules.Text{Title: "Look", Body: "-3.00 since 06:10"}) || d.Priority != 2 || d.Modal != rules.ModalSilent || d.Expires != time.Hour {
		t.Errorf("%+v", d)
	}
	whole := p.Rule()
	if diff := cmp.Diff(map[string]string{"area": "stock", "team": "night"}, whole.Labels); diff != "" || len(whole.Deliver) != 1 || whole.Deliver[0].Sink != "mail" {
		t.Errorf("%+v %s", whole, diff)
	}
}

// The texts of a type see the fields. For a group they come from its first row, and for a result from the rule's
// expressions.
func TestGroupsAndResultsSpeakByTheirData(t *testing.T) {
	p, problems := rules.Compile(typed(t, ofRow, perRow+"    group_by: [wh_id]\n"), stock, speaking(nil))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	if d, err := p.DraftGroup(bins(-300, -200)); err != nil || d.Texts["zh"].Title != "补货 A-01" {
		t.Errorf("%+v, %v", d, err)
	}
	result := typed(t, ofResult, "    per: result\n    when: row_count > 1\n")
	if p, problems = rules.Compile(result, stock, speaking(nil)); problems.Err() != nil {
		t.Fatal(problems)
	}
	if d, err := p.DraftResult(bins(-300, -200)); err != nil || d.Texts[""] != (rules.Text{Title: "Refill all", Body: "2 since"}) {
		t.Errorf("%+v, %v", d, err)
	}
}

// Where the type does not set a field, the rule must, at load and whenever the type changes. The problem names both
// ways to correct that.
func TestARuleThatCannotSpeak(t *testing.T) {
	event := perRow + "    mode: event\n"
	for _, c := range []struct {
		others string
		change func(*catalog.Type)
		want   string
	}{
		{perRow, func(t *catalog.Type) { t.Title = nil }, `7:5 missing_field notice.title is missing, and the type T has none; write what the notice says, or give the type a title in the catalogue`},
		{perRow, func(t *catalog.Type) { t.Deliver = nil }, `3:5 missing_field deliver is missing, and the type T has none; where the notices go, as [{sink: inbox}]; or give the type a deliver in the catalogue`},
		{event, func(t *catalog.Type) { t.Deliver[1].Unless = deliver.UnlessResolved }, `7:20 wrong_mode deliver of the type T: unless: resolved cannot be used in mode event`},
		{perRow, func(t *catalog.Type) { t.Title["en"] = "{{ .lot }}" }, `7:20 unknown_column title.en of the type T: the type has no field "lot"`},
		{perRow, func(t *catalog.Type) {
			for i := range 33 {
				t.Labels[fmt.Sprint("l", i)] = "x"
			}
		}, `3:5 out_of_range the rule and its type T have 35 labels together, at most 32 are allowed`},
	} {
		_, problems := rules.Compile(typed(t, ofRow, c.others), stock, speaking(c.change))
		var got []string
		for _, p := range problems {
			got = append(got, fmt.Sprintf("%d:%d %s %s; %s", p.Line, p.Col, p.Code, p.Message, p.Hint))
		}
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, c.want) }) {
			t.Errorf("got  %s\nwant %s", strings.Join(got, "\n"), c.want)
		}
	}
}

// Each rule that takes deliver from its type checks the type's sinks against the site.
func TestTypesNameSinksOfTheSite(t *testing.T) {
	set := &rules.Set{Rules: []*rules.Rule{typed(t, ofRow+", expires: 30s", perRow)}}
	rules.Check(set, rules.Site{Sources: []string{"wms"}, Sinks: deliver.Sinks{Types: map[string]string{"inbox": "inbox", "sms": "chat"}}, Types: speaking(nil)})
	if len(set.Problems) != 1 || set.Problems[0].Code != deliver.CodeTooLate || !strings.HasPrefix(set.Problems[0].Message, "deliver[1].delay of the type T: a delay of 1m") {
		t.Errorf("%v", set.Problems)
	}
}
