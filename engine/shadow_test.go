package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tallyman/engine"
	"tallyman/engine/enginetest"
	"tallyman/rules"
	"tallyman/rules/deliver"
)

// toWhom returns the notices of the warehouse's inbox as "recipients: status title".
func (w *world) toWhom() (list []string) {
	recipients := w.inbox.To("119240")
	for i, n := range w.notices() {
		list = append(list, strings.Join(recipients[i], " ")+": "+string(n.Status)+" "+n.Title)
	}
	return list
}

func (w *world) isTold(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, w.toWhom()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// inShadow puts the world's rule in shadow. The rule delivers only to a queue.
func inShadow(w *world) (o engine.Options, queue *enginetest.Sink) {
	queue = &enginetest.Sink{}
	w.rules[0].Shadow = true
	w.rules[0].Deliver = []deliver.Entry{{Sink: "queue"}}
	o = w.options("a")
	o.Sinks["queue"] = engine.Sink{Sink: queue}
	return o, queue
}

func TestShadowTellsItsOwnInboxUntilItIsPromoted(t *testing.T) {
	inWorld(t, func(w *world) {
		o, queue := inShadow(w)
		heard := &observer{}
		o.Observer = heard
		n := w.start(o)
		w.set(stock("A-01", -3), stock("A-02", -3))
		pass(6 * m)
		w.set(stock("A-01", -3))
		pass(5 * m)
		const shadow = "shadow:negative-bin-stock: "
		want := []string{
			shadow + "firing Bin A-01 is at -3", shadow + "firing Bin A-02 is at -3", shadow + "resolved Resolved: Bin A-02 is at -3",
		}
		w.isTold(t, want...)
		if got := queue.Taken(""); len(got) != 0 {
			t.Fatalf("the queue got %v", got)
		}

		list, err := n.Promote(w.t.Context(), ann, "negative-bin-stock", nil)
		if err != nil || len(list) != 1 || list[0].Scope != "119240" || list[0].By != ann.By {
			t.Fatalf("Promote: %+v, %v", list, err)
		}
		if s := status(t, n); !s.Promoted.Equal(list[0].At) || s.PromotedBy != ann.By {
			t.Errorf("status: %+v", s)
		}
		pass(5 * m)
		w.isTold(t, want...) // what is known is not told again

		w.set(stock("A-01", -3), stock("A-03", -3))
		pass(5 * m)
		w.set()
		pass(5 * m)
		w.isTold(t, append(want, shadow+"resolved Resolved: Bin A-01 is at -3")...)
		var live []string
		for _, n := range queue.Taken("") {
			live = append(live, string(n.Status)+" "+n.Title)
		}
		if diff := cmp.Diff([]string{"firing Bin A-03 is at -3", "resolved Resolved: Bin A-03 is at -3"}, live); diff != "" {
			t.Error(diff)
		}
		for _, line := range heard.list() {
			if strings.HasPrefix(line, "run") && !strings.HasSuffix(line, " 0 unsubscribed") {
				t.Errorf("a resolution that is not for the inbox counts as unsubscribed: %s", line)
			}
		}
	})
}

// A promotion on one node is in force for the next run on any node.
func TestPromotionCountsOnEveryNode(t *testing.T) {
	inWorld(t, func(w *world) {
		a, queue := inShadow(w)
		b := w.options("b")
		b.Sinks = a.Sinks
		w.start(a)
		second := w.start(b)
		if _, err := second.Promote(w.t.Context(), ann, "negative-bin-stock", nil); err != nil {
			t.Fatal(err)
		}
		second.stop()
		w.set(stock("A-01", -3))
		pass(6 * m)
		if len(queue.Taken("")) != 1 || len(w.notices()) != 0 {
			t.Errorf("the queue got %v, the inbox %v", queue.Taken(""), w.told())
		}
	})
}

func TestPromoteRefusals(t *testing.T) {
	inWorld(t, func(w *world) {
		o, _ := inShadow(w)
		elsewhere := negativeStock()
		elsewhere.Scope = "119241"
		o.Rules = append(o.Rules, elsewhere)
		n := w.start(o)
		text := func(s string) *string { return &s }
		for _, c := range []struct {
			rule  string
			scope *string
			want  string
		}{
			{"negative-bin-stok", nil, `there is no rule "negative-bin-stok"; did you mean "negative-bin-stock"?`},
			{"negative-bin-stock", text("119242"), `there is no scope "119242"; did you mean "119240"?`},
			{"negative-bin-stock", text("x"), `there is no scope "x"; its scopes are 119240, 119241`},
			{"negative-bin-stock", text("119241"), "the rule is not in shadow: negative-bin-stock"},
		} {
			_, err := n.Promote(w.t.Context(), ann, c.rule, c.scope)
			if err == nil || err.Error() != c.want {
				t.Errorf("%s: %v, want %s", c.rule, err, c.want)
			}
			if _, unknown := errors.AsType[*engine.UnknownError](err); unknown == errors.Is(err, engine.ErrNotShadow) {
				t.Errorf("%v is of no kind or of both", err)
			}
		}
		if list, err := n.Promote(w.t.Context(), ann, "negative-bin-stock", nil); err != nil || len(list) != 1 {
			t.Errorf("of all scopes those in shadow: %v, %v", list, err)
		}
	})
}

// The file of a promoted rule drops shadow. When shadow returns after a while, the rule is in shadow again.
func TestPromotionIsForgottenWithShadow(t *testing.T) {
	inWorld(t, func(w *world) {
		o, queue := inShadow(w)
		n := w.start(o)
		if _, err := n.Promote(w.t.Context(), ann, "negative-bin-stock", nil); err != nil {
			t.Fatal(err)
		}
		pass(m)
		n.stop()
		live := *w.rules[0]
		live.Shadow = false
		o.Rules = []*rules.Rule{&live}
		n = w.start(o)
		promoted := func() bool {
			list, err := w.ledger.Promotions(w.t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return len(list) == 1
		}
		pass(8 * m)
		if !promoted() {
			t.Error("it is forgotten although another node may still have the old file")
		}
		pass(10 * m)
		if promoted() {
			t.Error("it is not forgotten")
		}
		n.stop()
		o.Rules = w.rules
		w.start(o)
		w.set(stock("A-01", -3))
		pass(6 * m)
		w.isTold(t, "shadow:negative-bin-stock: firing Bin A-01 is at -3")
		if got := queue.Taken(""); len(got) != 0 {
			t.Errorf("the queue got %v", got)
		}
	})
}

func TestShadowOfEvents(t *testing.T) {
	inWorld(t, func(w *world) {
		r := negativeStock()
		r.Mode, r.Shadow, r.NoData, r.Notice.SendResolved = rules.ModeEvent, true, "", false
		w.rules = []*rules.Rule{r}
		n := w.start(w.options("a"))
		w.set(stock("A-01", -3))
		pass(6 * m)
		if _, err := n.Promote(w.t.Context(), ann, r.ID, nil); err != nil {
			t.Fatal(err)
		}
		pass(5 * m)
		w.isTold(t, "shadow:negative-bin-stock: event Bin A-01 is at -3", "role:keeper: event Bin A-01 is at -3")
	})
}

func TestShadowNeedsAnInbox(t *testing.T) {
	w := &world{t: t, ledger: enginetest.NewLedger(repNotice), source: &enginetest.Source{}, rules: []*rules.Rule{negativeStock()}}
	w.rules[0].Shadow = true
	o := w.options("a")
	o.Sinks = map[string]engine.Sink{"inbox": {Sink: &enginetest.Sink{}}}
	if _, err := engine.New(o); err == nil || !strings.Contains(err.Error(), "there is no inbox") {
		t.Errorf("New: %v", err)
	}
}

// A finding gets a notice in shadow, and after the promotion a digest. Its resolution goes where the digest went.
func TestADigestAfterThePromotionIsResolvedLive(t *testing.T) {
	inWorld(t, func(w *world) {
		w.rules[0].Shadow = true
		w.rules[0].Limit.Notices = 1
		w.rules[0].RepeatInterval = 5 * m
		n := w.start(w.options("a"))
		w.set(stock("A-02", -3))
		pass(6 * m)
		if _, err := n.Promote(w.t.Context(), ann, "negative-bin-stock", nil); err != nil {
			t.Fatal(err)
		}
		w.set(stock("A-01", -3), stock("A-02", -3))
		pass(5 * m)
		w.set()
		pass(5 * m)
		w.isTold(
			t,
			"shadow:negative-bin-stock: firing Bin A-02 is at -3",
			"role:keeper: firing Bin A-01 is at -3",
			"role:keeper: firing 1 more: negative-bin-stock",
			"role:keeper: resolved Resolved: Bin A-01 is at -3",
			"role:keeper: resolved Resolved: 1 more: negative-bin-stock",
		)
	})
}
