package preview_test

import (
	"fmt"
	"strings"
	"testing"

	"tallyman/engine/trial/preview"
	"tallyman/internal/ledger"
	"tallyman/rules/row"
)

// escalating is stockRule with every way for a notice to go out.
var escalating = []string{"deliver: [{sink: inbox}]", `deliver:
      - {sink: inbox}
      - {sink: work, when: qty < -100}
      - {sink: sms, strategy: delayed, delay: 10m, unless: read, retry: 3}
      - {sink: mail, strategy: important, until: sent}
      - {sink: gateway, strategy: timed, within: 30m}
      - {sink: pager, strategy: delayed, at: 'qty < -100 ? now() - duration("1h") : now() + duration("1h")'}
      - {sink: log}`}

var oneKeeper = []ledger.Subscription{{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "role:keeper"}}

// sent is where the notices go: sink type strategy how recipients note.
func sent(list []preview.Notice) string {
	var b strings.Builder
	for _, n := range list {
		fmt.Fprintf(&b, "%s %s\n", n.Status, n.Title)
		for _, d := range n.To {
			line := strings.Join(strings.Fields(fmt.Sprint(d.Sink, " ", d.Type, " ", d.Strategy, " [", d.How, "] ", strings.Join(d.Recipients, ","), " ", d.Note)), " ")
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	return b.String()
}

func TestWhereANoticeGoesAndWhen(t *testing.T) {
	t.Parallel()
	s := site{rows: [][]row.Value{stock("A", "S1", "-3"), stock("B", "S1", "-300")}, subs: oneKeeper}
	r := s.preview(t, ruleOf(t, stockRule, escalating...)).Report
	is(t, "notices", sent(r.Notices), `
firing Bin A is at -3
  inbox inbox [] role:keeper
  sms chat delayed [after 10m unless read, 3 more times if it fails]
  mail mail important [until it succeeds, even after the notice has expired] role:keeper only recipients with an address
  gateway webhook timed [for 30m]
  pager chat delayed [at 2026-06-01 17:00:00 +08:00]
  log stdout immediate []
firing Bin B is at -300
  inbox inbox [] role:keeper
  work queue [] makes an item, unless the queue still has an item of the finding
  sms chat delayed [after 10m unless read, 3 more times if it fails]
  mail mail important [until it succeeds, even after the notice has expired] role:keeper only recipients with an address
  gateway webhook timed [for 30m]
  pager chat delayed [at once, as it is past 2026-06-01 15:00:00 +08:00]
  log stdout immediate []
`)
	s.subs = nil
	r = s.preview(t, ruleOf(t, stockRule, escalating...)).Report
	is(t, "mail without subscribers", sent(r.Notices[:1]), `
firing Bin A is at -3
  inbox inbox [] nobody is subscribed
  sms chat delayed [after 10m unless read, 3 more times if it fails]
  mail mail important [until it succeeds, even after the notice has expired] nobody is subscribed
  gateway webhook timed [for 30m]
  pager chat delayed [at 2026-06-01 17:00:00 +08:00]
  log stdout immediate []
`)
}

func TestWhereAResolutionGoes(t *testing.T) {
	t.Parallel()
	rule := ruleOf(t, stockRule, escalating...)
	k := after(t, rule, stockColumns, due, [][]row.Value{stock("A", "S1", "-3")})
	s := site{ledger: k, subs: oneKeeper, due: due.Add(5 * 60e9)}
	is(t, "notices", sent(s.preview(t, rule).Report.Notices), `
resolved Resolved: Bin A is at -3
  inbox inbox [] only if the firing notice went to this sink
  work queue [] removes the item, unless a worker holds it
  sms chat delayed [3 more times if it fails] only if the firing notice went to this sink
  mail mail important [until it succeeds, even after the notice has expired] only if the firing notice went to this sink
  gateway webhook timed [for 30m] only if the firing notice went to this sink
  pager chat delayed [] only if the firing notice went to this sink
  log stdout immediate [] only if the firing notice went to this sink
`)
}

// A pending finding shows where its notice would go. A note names a notice that goes nowhere.
func TestWhereALaterNoticeGoes(t *testing.T) {
	t.Parallel()
	rule := ruleOf(t, stockRule, "key:", "for: 10m\n    key:", "deliver: [{sink: inbox}]", `deliver: [{sink: sms, strategy: delayed, delay: 10m, when: qty < -100}]`)
	r := site{rows: [][]row.Value{stock("A", "S1", "-300"), stock("B", "S1", "-3")}}.preview(t, rule).Report
	is(t, "later", sent(r.Later), `
firing Bin A is at -300
  sms chat delayed [after 10m]
firing Bin B is at -3
`)
	is(t, "notes", strings.Join(r.Notes, "\n"), "Bin B is at -3 goes nowhere: no `when` of deliver lets it through")
}

// A recorded test says how notices go out, where the rule does.
func TestRecordedDeliver(t *testing.T) {
	t.Parallel()
	f := folderOf(t, stockRule, escalating...)
	s := site{rows: [][]row.Value{stock("A", "S1", "-3"), stock("B", "S1", "-300")}, subs: oneKeeper}
	text, _ := f.record(t, s.preview(t, f.rule))
	for _, want := range []string{
		`deliver: [inbox, {sink: sms, strategy: delayed, delay: 10m, retry: 3, unless: read}, {sink: mail, strategy: important, until: sent}, {sink: gateway, strategy: timed, within: 30m}, {sink: pager, strategy: delayed, at: "2026-06-01T09:00:00Z"}, log]`,
		`deliver: [inbox, work, `,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}
