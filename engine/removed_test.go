package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules"
	"tallyman/rules/row"
)

// grace is longer than the time after which the state of a removed rule is closed.
const grace = 40 * time.Second

// without replaces the rules of all nodes by these, and waits for longer than the grace.
func (w *world) without(n node, left ...*rules.Rule) {
	w.t.Helper()
	w.replace(n, true, left...)
	pass(grace)
}

func TestRemovedRuleResolvesItsNotices(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.rules[0].KeepFiringFor = time.Hour
		n := w.start(w.options("a"))
		w.set(stock("A-01", -3), stock("A-02", -4))
		pass(6 * m)
		w.set(stock("A-02", -4))
		pass(5 * m) // A-01 is absent, and told
		w.without(n)
		told := []string{
			"firing Bin A-01 is at -3", "firing Bin A-02 is at -4",
			"resolved Resolved, rule removed: Bin A-01 is at -3", "resolved Resolved, rule removed: Bin A-02 is at -4",
		}
		got := w.told()
		slices.Sort(got)
		if !slices.Equal(got, told) {
			t.Fatalf("told %q", got)
		}
		for _, n := range w.notices()[2:] {
			firing := w.notices()[slices.IndexFunc(w.notices(), func(f *notice.Notice) bool { return f.Key == n.Key })]
			if n.ID != notice.ID(n.Rule, n.Scope, n.Key, firing.Episode, notice.Resolved, 0) || n.Modal != "silent" || n.Body != firing.Body ||
				n.Texts["zh"].Title != "已解除（规则已移除）："+firing.Texts["zh"].Title || n.ExpiresAt.Sub(n.CreatedAt) != time.Hour {
				t.Errorf("%+v", n)
			}
		}
		w.without(n, w.rules[0]) // it comes back later, and begins anew
		pass(5 * m)
		if got := w.told(); len(got) != 5 || got[4] != told[1] || w.notices()[4].ID == w.notices()[1].ID {
			t.Errorf("told %q", got)
		}
	})
}

// Findings that nobody got a notice of are closed without notices: pending findings, findings of rules without
// send_resolved, and findings of rules in shadow.
func TestRemovedRuleIsSilentWhereNobodyWasTold(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*rules.Rule){
		"send_resolved: false": func(r *rules.Rule) { r.Notice.SendResolved = false },
		"shadow":               func(r *rules.Rule) { r.Shadow = true },
		"pending":              func(r *rules.Rule) { r.For = time.Hour },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				change(w.rules[0])
				n := w.start(w.options("a"))
				w.set(stock("A-01", -3))
				pass(6 * m)
				before := len(w.told())
				w.without(n)
				if got := w.told(); len(got) != before {
					t.Errorf("told %q", got)
				}
				if left, err := w.ledger.Findings(w.t.Context(), "negative-bin-stock", "119240"); err != nil || len(left) != 0 {
					t.Errorf("left %v, %v", left, err)
				}
			})
		})
	}
}

// The removal of a promoted rule resolves its notices. A resolution of a notice from before the promotion goes to the
// shadow inbox.
func TestRemovedPromotedRuleResolvesWhereItTold(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.rules[0].Shadow = true
		n := w.start(w.options("a"))
		w.set(stock("A-01", -3))
		pass(6 * m)
		if _, err := n.Promote(w.t.Context(), ann, "negative-bin-stock", nil); err != nil {
			t.Fatal(err)
		}
		w.set(stock("A-01", -3), stock("A-02", -3))
		pass(5 * m)
		w.without(n)
		got := w.toWhom()
		slices.Sort(got[2:])
		if want := []string{
			"shadow:negative-bin-stock: firing Bin A-01 is at -3", "role:keeper: firing Bin A-02 is at -3",
			"role:keeper: resolved Resolved, rule removed: Bin A-02 is at -3",
			"shadow:negative-bin-stock: resolved Resolved, rule removed: Bin A-01 is at -3",
		}; !slices.Equal(got, want) {
			t.Errorf("told %q", got)
		}
	})
}

// A scope that is removed from a rule counts as a removed rule. The other scopes go on untouched.
func TestRemovedScopeResolves(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		other := changed(w.rules[0], func(r *rules.Rule) { r.Scope = "119241" })
		w.rules = append(w.rules, other)
		n := w.start(w.options("a"))
		w.set(stock("A-01", -3))
		pass(6 * m)
		w.without(n, other)
		if got := w.told(); len(got) != 2 || got[1] != "resolved Resolved, rule removed: Bin A-01 is at -3" {
			t.Errorf("told %q", got)
		}
		pass(10 * m)
		if got := w.inbox.Taken("119241"); len(got) != 1 {
			t.Errorf("the scope that stays was told %d times", len(got))
		}
	})
}

// While all rules are paused, nothing is resolved. A switch of the removed rule alone does not prevent the removal,
// because nobody would ever clear it.
func TestPauseHoldsBackWhatARemovedRuleResolves(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		n := w.start(w.options("a"))
		w.set(stock("A-01", -3))
		pass(6 * m)
		w.turn(n, nil, off)
		w.pause(n, off)
		w.without(n)
		pass(time.Hour)
		if got := w.told(); len(got) != 1 {
			t.Errorf("told %q while all is paused", got)
		}
		w.pause(n, on)
		pass(grace)
		if got := w.told(); len(got) != 2 {
			t.Errorf("told %q", got)
		}
	})
}

// The findings of a removed rule are closed in portions. A node that dies between two of them leaves the rest to the
// next one, which tells nothing twice. A digest is resolved with the last finding that it told.
func TestRemovedRuleWithManyFindings(t *testing.T) {
	t.Parallel()
	for limit, notices := range map[int]int{0: 2300, 100: 101} {
		t.Run(fmt.Sprintf("limit %d", limit), func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				const many = 2300
				w.rules[0].Limit.Notices = limit
				portions, crashed := 0, false
				w.ledger.Fail = func(method string) error {
					if method != "Forget" {
						return nil
					}
					if portions++; portions > 2 && !crashed {
						return errors.New("connection reset")
					}
					return nil
				}
				a := w.start(w.options("a"))
				var rows [][]row.Value
				for i := range many {
					rows = append(rows, stock(fmt.Sprintf("A-%04d", i), -3))
				}
				w.set(rows...)
				pass(6 * m)
				w.without(a)
				pass(m)
				a.stop()
				findings, err := w.ledger.Findings(w.t.Context(), "negative-bin-stock", "119240")
				if err != nil || len(findings) != many-1000 {
					t.Fatalf("%d findings are left after two portions, %v", len(findings), err)
				}
				crashed = true
				w.rules = nil
				o := w.options("b")
				o.Complete = true
				w.start(o)
				pass(m)
				if got := w.told(); len(got) != 2*notices {
					t.Fatalf("told %d, want %d", len(got), 2*notices)
				}
				ids := map[string]bool{}
				for _, n := range w.notices() {
					ids[n.ID] = true
				}
				if len(ids) != 2*notices {
					t.Errorf("%d different notices", len(ids))
				}
				if _, err := w.ledger.Scope(w.t.Context(), "negative-bin-stock", "119240"); !errors.Is(err, ledger.ErrNotFound) {
					t.Errorf("the state is still there: %v", err)
				}
			})
		})
	}
}

// The members of a group share a notice, which is resolved once.
func TestRemovedRuleResolvesAGroupOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.rules[0].GroupBy = []string{"qty"}
		w.rules[0].Notice.Title = map[string]string{"": "{{ .row_count }} bins"}
		w.rules[0].Notice.Body = nil
		n := w.start(w.options("a"))
		w.set(stock("A-01", -3), stock("A-02", -3), stock("A-03", -3))
		pass(6 * m)
		w.without(n)
		if got := w.told(); len(got) != 2 {
			t.Errorf("told %q", got)
		}
	})
}
