package engine_test

import (
	"slices"
	"strings"
	"testing"

	"tallyman/engine"
	"tallyman/engine/enginetest"
	"tallyman/internal/notice"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
	"tallyman/rules/message"
)

// speaking returns the type with every field that a rule may leave out.
func speaking(title string) catalog.Type {
	t := repNotice
	t.Defaults = catalog.Defaults{
		Title: message.Texts{"": title + " {{ .bin }}", "zh": "补货 {{ .bin }}"}, Priority: 4, Modal: catalog.ModalPopup,
		Labels: map[string]string{"area": "of the type", "team": "inbound"}, Deliver: []deliver.Entry{{Sink: "inbox"}},
	}
	return t
}

// leaveToType removes from the rules the fields that their type has.
func (w *world) leaveToType() {
	for _, r := range w.rules {
		r.Notice.Title, r.Notice.Body, r.Notice.Priority, r.Notice.Modal, r.Deliver = nil, nil, "", "", nil
	}
	w.ledger.SetTypes(speaking("Refill"))
}

// titles returns the titles of the scope's notices.
func (w *world) titles(scope string) (list []string) {
	for _, n := range w.inbox.Taken(scope) {
		list = append(list, n.Title)
	}
	return list
}

// A changed text is in force on every node with the next firing. A resolution has the text of its firing notice.
func TestWordsOfATypeChangeOnAllNodes(t *testing.T) {
	inWorld(t, func(w *world) {
		w.manyScopes(20)
		w.leaveToType()
		w.start(w.options("a"))
		w.start(w.options("b"))
		w.set(stock("A-01", -3))
		pass(6 * m)
		w.ledger.SetTypes(speaking("Look at"))
		w.set(stock("A-02", -3))
		pass(5 * m)
		nodes := map[string]bool{}
		for _, run := range w.ledger.Runs() {
			nodes[run.Node] = true
		}
		if len(nodes) != 2 {
			t.Errorf("the runs were on %v", nodes)
		}
		want := []string{"Look at A-02", "Refill A-01", "Resolved: Refill A-01"}
		for _, r := range w.rules {
			got := w.titles(r.Scope)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("scope %s was told %v", r.Scope, got)
			}
		}
		n := w.inbox.Taken(w.rules[0].Scope)[0]
		if n.Priority != 4 || n.Modal != "popup" || n.Labels["area"] != "replenishment" || n.Labels["team"] != "inbound" || n.Texts["zh"].Title != "补货 A-01" {
			t.Errorf("%+v", n)
		}
	})
}

// A digest shows the titles that the type gives its notices.
func TestDigestsSpeakByTheType(t *testing.T) {
	inWorld(t, func(w *world) {
		w.leaveToType()
		w.rules[0].Limit.Notices = 1
		w.start(w.options("a"))
		w.set(stock("A-01", -3), stock("A-02", -3), stock("A-03", -3))
		pass(6 * m)
		i := slices.IndexFunc(w.notices(), func(n *notice.Notice) bool { return n.Count == 2 })
		if i < 0 || w.notices()[i].Body != "Refill A-02\nRefill A-03" || w.notices()[i].Texts["zh"].Body != "补货 A-02\n补货 A-03" {
			t.Errorf("%+v", w.notices())
		}
	})
}

// A rule leaves out fields that its type no longer has. It does not run and says why. Its alert goes where its notices
// went.
func TestARuleWhoseTypeFallsSilent(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*catalog.Type)
		reason string
	}{
		"title":   {func(t *catalog.Type) { t.Title = nil }, "missing_field: notice.title is missing, and the type REP_NOTICE has none"},
		"deliver": {func(t *catalog.Type) { t.Deliver = nil }, "missing_field: deliver is missing, and the type REP_NOTICE has none"},
		"sink":    {func(t *catalog.Type) { t.Deliver = []deliver.Entry{{Sink: "fax"}} }, `unknown_sink: the type REP_NOTICE delivers to the sink "fax", which is not configured`},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.leaveToType()
				w.rules[0].OnError = rules.PolicyAlert
				n := w.start(w.options("a"))
				w.set(stock("A-01", -3))
				pass(6 * m)
				silent := speaking("Refill")
				c.change(&silent)
				w.ledger.SetTypes(silent)
				pass(15 * m)
				if s := status(t, n); s.Verified || !strings.Contains(s.Reason, c.reason) {
					t.Errorf("%+v", s)
				}
				if got := w.titles("119240"); !slices.Equal(got, []string{"Refill A-01", "Rule fails: negative-bin-stock"}) {
					t.Errorf("told %v", got)
				}
				w.ledger.SetTypes(speaking("Refill"))
				pass(10 * m)
				if s := status(t, n); !s.Verified {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// A node that does not know the rule's sinks yet sends the alert of the failing rule to the inbox.
func TestARuleWithoutSinksTellsTheInboxThatItFails(t *testing.T) {
	inWorld(t, func(w *world) {
		w.leaveToType()
		w.rules[0].OnError = rules.PolicyAlert
		w.ledger.SetTypes(repNotice)
		w.start(w.options("a"))
		pass(15 * m)
		if got := w.titles("119240"); !slices.Equal(got, []string{"Rule fails: negative-bin-stock"}) {
			t.Errorf("told %v", got)
		}
	})
}

// Rules have the sinks and strategies of their type, even after these have changed.
func TestSinksOfATypeChange(t *testing.T) {
	inWorld(t, func(w *world) {
		w.leaveToType()
		other := &enginetest.Sink{}
		o := w.options("a")
		o.Sinks["other"] = engine.Sink{Sink: other}
		n := w.start(o)
		w.set(stock("A-01", -3))
		pass(6 * m)
		moved := speaking("Refill")
		moved.Deliver = []deliver.Entry{{Sink: "other"}}
		w.ledger.SetTypes(moved)
		w.set(stock("A-01", -3), stock("A-02", -3))
		pass(5 * m)
		if got := other.Taken(""); len(got) != 1 || got[0].Title != "Refill A-02" || len(w.titles("119240")) != 1 {
			t.Errorf("%+v", got)
		}
		answer, err := n.Why(w.t.Context(), "negative-bin-stock", nil, "A-01", true)
		if err != nil || answer.Look == nil || !slices.Equal(answer.Look.To, []string{"other"}) {
			t.Errorf("%+v, %v", answer, err)
		}
	})
}
