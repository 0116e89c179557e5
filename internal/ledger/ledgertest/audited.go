package ledgertest

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/silence"
	"tallyman/rules/catalog"
	"tallyman/rules/scopelist"
)

// recordedChange is a call of a method that writes an audit record.
type recordedChange struct {
	method string
	// prepare runs first and writes no record; nil = nothing to prepare.
	prepare func(ctx context.Context, l ledger.Ledger) error
	do      func(ctx context.Context, l ledger.Ledger, who ledger.Author) error
	// again says that a repeated call changes nothing and returns no error. Without again, a repeated call is an error,
	// or another change.
	again bool
}

// recordedChanges returns calls of every method of a ledger that writes an audit record. The calls run one after the
// other on one ledger.
func recordedChanges() []recordedChange {
	sub := func(typ, warehouse, subscriber string) ledger.Subscription {
		return ledger.Subscription{Type: typ, Warehouse: warehouse, Subscriber: subscriber}
	}
	one := repNotice()
	replaced := one
	replaced.Name, replaced.Names, replaced.Fields, replaced.Retention = `<Gate> & "é"`, nil, nil, 1500*time.Millisecond
	gate, dock := catalog.Type{Code: "GATE", ID: 7, Name: "Gate", Retention: time.Hour}, catalog.Type{Code: "DOCK", ID: 8, Name: "Dock", Category: "C"}
	list := []recordedChange{
		{method: "SeedTypes", again: true, do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return second(l.SeedTypes(ctx, who, catalog.Catalog{one.Code: one, gate.Code: gate}))
		}},
		{method: "SeedSubscriptions", again: true, do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return second(l.SeedSubscriptions(ctx, who, []ledger.Subscription{sub("GATE", "*", "role:keeper"), sub(one.Code, "119240", "user:1")}))
		}},
	}
	for _, t := range []catalog.Type{dock, replaced} {
		list = append(list, recordedChange{method: "PutType", do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error { return l.PutType(ctx, who, t) }})
	}
	for _, subs := range [][]ledger.Subscription{
		{sub("DOCK", "119240", "user:bo")},
		{sub("DOCK", "*", "user:1"), sub("DOCK", "119240", "user:bo"), sub("GATE", "119241", "user:1"), sub("DOCK", "*", "user:1")},
	} {
		list = append(list, recordedChange{method: "AddSubscriptions", again: true, do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return second(l.AddSubscriptions(ctx, who, subs))
		}})
	}
	for _, s := range []delivery.Subscriber{{ID: "user:ann", Name: "Ann", Mail: []string{"ann@example.com"}}, {ID: "role:keeper", Phone: "110", Alias: "keepers", Tags: []string{"dock"}, Channels: map[string]string{"jpush": "1"}}, {ID: "user:ann", Language: "zh"}} {
		list = append(list, recordedChange{method: "PutSubscriber", do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return second(l.PutSubscriber(ctx, who, s))
		}})
	}
	for _, s := range []ledger.Switch{
		{Rule: rule, Scope: scope, State: ledger.SwitchOff, Until: start.Add(time.Hour), At: start, Reason: "stocktake"},
		{Rule: rule, Scope: ledger.Every, State: ledger.SwitchOn, At: start},
		{Rule: rule, Scope: scope, State: ledger.SwitchCleared, At: start.Add(time.Minute)},
		{Rule: ledger.Every, Scope: ledger.Every, State: ledger.SwitchOff, At: start},
	} {
		list = append(list, recordedChange{method: "SetSwitch", do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error { return l.SetSwitch(ctx, who, s) }})
	}
	for i, texts := range [][]string{{"rule=negative-bin-stock", `area!~" <in>bound"`}, {"warehouse=119240"}, {"rule=x"}} {
		list = append(list, recordedChange{method: "AddSilence", do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			s, err := auditedSilence(fmt.Sprintf("s_%d", i), i == 1, texts)
			if err != nil {
				return err
			}
			return l.AddSilence(ctx, who, s)
		}})
	}
	return append(list, []recordedChange{
		{method: "EndSilence", again: true, do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return second(l.EndSilence(ctx, who, "s_1", start.Add(time.Minute+time.Nanosecond)))
		}},
		{method: "AddToken", do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return l.AddToken(ctx, who, tokenOf("t_1", 0))
		}},
		{method: "AddToken", do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return l.AddToken(ctx, who, tokenOf("t_2", time.Minute+time.Nanosecond))
		}},
		{method: "RevokeToken", again: true, do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return l.RevokeToken(ctx, who, "t_1", start.Add(time.Hour+time.Nanosecond))
		}},
		{method: "Promote", again: true, prepare: registered, do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return l.Promote(ctx, who, rule, scope, start.Add(time.Nanosecond))
		}},
		{method: "Promote", again: true, do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return l.Promote(ctx, who, rule, "", start)
		}},
		{method: "Demote", again: true, do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return l.Demote(ctx, who, rule, scope)
		}},
		{method: "Rewind", do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return second(l.Rewind(ctx, who, rewindTo(4711)))
		}},
		{method: "Rewind", do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return second(l.Rewind(ctx, who, rewindTo(12)))
		}},
		{method: "CancelDeliveries", again: true, prepare: delivered, do: canceling(1)},
		{method: "CancelDeliveries", again: true, do: canceling(2, 3, 1)},
		{method: "RetryDeliveries", do: retrying(2)},
		{method: "RetryDeliveries", do: retrying(1, 3, 9)},
		{method: "SetQueuePause", do: pausing(ordered, item.Pause{Paused: true, By: "ann", At: start})},
		{method: "SetQueuePause", do: pausing(ordered, item.Pause{By: "ann", At: start.Add(time.Minute)})},
		{method: "SetQueuePause", do: pausing(ordered+ledger.TestTwin, item.Pause{Paused: true, At: start})},
		{method: "ChangeQueueSettings", again: true, do: changing(item.SettingsChange{Set: item.LiveSettings{
			Lease: new(90 * time.Second), MaxAttempts: new(item.NoLimit), SuspendSteps: []time.Duration{time.Minute, 24 * time.Hour}, At: start,
		}})},
		{method: "ChangeQueueSettings", again: true, do: changing(item.SettingsChange{
			Set: item.LiveSettings{SuspendSteps: []time.Duration{}, At: start.Add(time.Minute)}, Reset: []string{item.LeaseSetting},
		})},
		{method: "ChangeQueueSettings", again: true, do: changing(item.SettingsChange{
			Set: item.LiveSettings{MaxAttempts: new(3), At: start.Add(time.Hour)}, Reset: []string{item.SuspendStepsSetting},
		})},
		{method: "AddRestore", do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return l.AddRestore(ctx, who, &ledger.Restore{Sink: "inbox", Epoch: "7-abc", Cause: "branch b is not at 9", Withheld: 2, Dropped: 3})
		}},
		{method: "ApplyMoves", again: true, prepare: queued, do: ordering(1, "i_1")},
		{method: "ApplyMoves", again: true, do: ordering(2, "i_2")},
		{method: "TakeRules", again: true, do: taking("v1")},
		{method: "TakeRules", again: true, do: taking("v2")},
		{method: "BeginTerm", again: true, do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return second(l.BeginTerm(ctx, who, ledger.ClockState{Machine: start}, 10*time.Minute, lease))
		}},
		{method: "WithholdClock", again: true, do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			was := ledger.ClockState{Term: ledger.Term{Number: 1}, Machine: start.Add(2 * time.Hour), Since: start}
			return second(l.WithholdClock(ctx, who, was, 2*time.Hour))
		}},
		{method: "ConfirmClock", do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return l.ConfirmClock(ctx, who, "the time service was away")
		}},
		{method: "AddChange", do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return l.AddChange(ctx, &ledger.Change{By: who.By, Via: who.Via, Action: "rule.run", Object: "rule:a"})
		}},
		{method: "TakeSubscriptions", again: true, do: listing("8", "9")},
		{method: "TakeSubscriptions", again: true, do: listing("9", "10")},
		{method: "ConfirmSubscriptions", prepare: emptied, do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return second(l.ConfirmSubscriptions(ctx, who, wms, ledger.HashOfSubscriptions(nil)))
		}},
		{method: "TakeSubscriptions", again: true, do: listing("9")},
		{method: "ReleaseSubscriptions", do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return second(l.ReleaseSubscriptions(ctx, who, wms))
		}},
		{method: "TakeScopes", again: true, do: listingScopes(withThreshold("1", 5), withThreshold("2", 5))},
		{method: "TakeScopes", again: true, do: listingScopes(withThreshold("1", 6), withThreshold("3", 5))},
		{method: "ConfirmScopes", prepare: noScopes, do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return second(l.ConfirmScopes(ctx, who, listedRule, scopelist.Hash("[]")))
		}},
		{method: "TakeScopes", again: true, do: listingScopes(withThreshold("1", 5))},
		{method: "ForgetScopes", do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return l.ForgetScopes(ctx, who, listedRule)
		}},
		{method: "TakeScopes", again: true, do: listingScopes(withThreshold("4", 5))},
		{method: "RemoveSubscription", do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return l.RemoveSubscription(ctx, who, sub("DOCK", "119240", "user:bo"))
		}},
		{method: "DeleteSubscriber", do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return l.DeleteSubscriber(ctx, who, "role:keeper")
		}},
		{method: "DeleteType", do: func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
			return l.DeleteType(ctx, who, "DOCK")
		}},
	}...)
}

// auditedSilence makes a silence. If recurs is true, the silence has a recurring window and no end.
func auditedSilence(id string, recurs bool, matchers []string) (*silence.Silence, error) {
	s := &silence.Silence{ID: id, From: start, Until: start.Add(2 * time.Hour), Comment: "stocktake, <盘点>", Created: start.Add(time.Second)}
	for _, text := range matchers {
		m, err := silence.ParseMatcher(text)
		if err != nil {
			return nil, err
		}
		s.Matchers = append(s.Matchers, m)
	}
	if !recurs {
		return s, nil
	}
	var err error
	s.Until = time.Time{}
	s.Window, err = silence.NewWindow("0 22 * * 6", "Asia/Shanghai", 8*time.Hour)
	return s, err
}

func second[T any](_ T, err error) error { return err }

// registered registers the tests' rule with a scope and without one.
func registered(ctx context.Context, l ledger.Ledger) error {
	for _, name := range []string{scope, ""} {
		if _, err := l.Register(ctx, rule, name, 0, start); err != nil {
			return err
		}
	}
	return nil
}

// delivered makes three pending deliveries.
func delivered(ctx context.Context, l ledger.Ledger) error {
	c, err := l.Claim(ctx, rule, scope, 0, due(1), "a", lease)
	if err != nil {
		return err
	}
	run := commitOf(c)
	run.Notices = to([]ledger.Target{important}, newNotice("n_1"), newNotice("n_2"), newNotice("n_3"))
	_, err = l.Commit(ctx, c, run)
	return err
}

var auditedTests = []testCase{
	{"every method that takes an author is among the recorded changes", func(t *testing.T, _ *fixture) {
		called := map[string]bool{}
		for _, c := range recordedChanges() {
			called[c.method] = true
		}
		for m := range reflect.TypeFor[ledger.Ledger]().Methods() {
			author := slices.Contains(slices.Collect(m.Type.Ins()), reflect.TypeFor[ledger.Author]()) || slices.Contains([]string{"AddChange", "SetQueuePause", "ChangeQueueSettings", "ApplyMoves"}, m.Name)
			if author != called[m.Name] {
				t.Errorf("%s: it takes an author: %v, it is among the recorded changes: %v", m.Name, author, called[m.Name])
			}
		}
	}},
	{"no change is made without its record, and a change can be rebuilt from its record", func(t *testing.T, f *fixture) {
		for i, c := range recordedChanges() {
			if c.prepare != nil {
				noError(t, c.prepare(t.Context(), f.Ledger))
			}
			before := f.look(t)
			isError(t, ledger.ErrInvalid, c.do(t.Context(), f, ledger.Author{By: "user:ann"}))
			f.db.Refuse(t, true)
			isError(t, ledger.ErrNotRecorded, c.do(t.Context(), f, Ann))
			equal(t, before, f.look(t))
			f.db.Refuse(t, false)
			noError(t, c.do(t.Context(), f.other(t), Ann))
			after := f.look(t)
			if after.Records != before.Records+1 {
				t.Fatalf("%d %s left %d records", i, c.method, after.Records-before.Records)
			}
			last := f.changes(t, ledger.ChangeFilter{Limit: 1})[0]
			if last.By != Ann.By || last.Via != Ann.Via || last.Action == "" || last.Object == "" {
				t.Errorf("%s left %+v", c.method, last)
			}
			noError(t, CheckAudit(t.Context(), f.Ledger))
			if c.again {
				noError(t, c.do(t.Context(), f, Ann))
				equal(t, after.Records, f.look(t).Records)
			}
		}
	}},
	{"records say from what to what", func(t *testing.T, f *fixture) {
		for _, c := range recordedChanges() {
			if c.prepare != nil {
				noError(t, c.prepare(t.Context(), f.Ledger))
			}
			noError(t, c.do(t.Context(), f, Ann))
		}
		list := f.changes(t, ledger.ChangeFilter{})
		slices.Reverse(list)
		var got []string
		for _, c := range list {
			got = append(got, fmt.Sprintf("%s %s from %s to %s", c.Action, c.Object, cmp.Or(string(c.Before), "nothing"), cmp.Or(string(c.After), "nothing")))
		}
		equal(t, strings.Split(strings.TrimSpace(wantedRecords), "\n"), got)
	}},
	{"two nodes change the same thing at once: each record begins where the previous one ends", func(t *testing.T, f *fixture) {
		nodes := []ledger.Ledger{f.Ledger, f.other(t)}
		failed := make(chan error)
		for n, l := range nodes {
			go func() {
				for i := range 10 {
					typ := repNotice()
					typ.Name = fmt.Sprint(n, i)
					if err := l.PutType(t.Context(), Ann, typ); err != nil {
						failed <- err
						return
					}
				}
				failed <- nil
			}()
		}
		for range nodes {
			noError(t, <-failed)
		}
		list := f.changes(t, ledger.ChangeFilter{})
		equal(t, 20, len(list))
		for i := range list[:19] {
			equal(t, string(list[i+1].After), string(list[i].Before))
		}
		equal(t, "type.create", list[19].Action)
		noError(t, CheckAudit(t.Context(), f.Ledger))
	}},
	{"nodes that take a version of the rules at once record it once, and record each way there and back", func(t *testing.T, f *fixture) {
		nodes := []ledger.Ledger{f.Ledger, f.other(t), f.other(t)}
		for round, version := range []string{"a", "b", "a", "b"} {
			from := int64(f.number(t, "rules"))
			recorded := make(chan bool)
			for _, l := range nodes {
				go func() {
					done, err := l.TakeRules(t.Context(), Ann, from, &ledger.RulesVersion{Version: version})
					recorded <- done && err == nil
				}()
			}
			count := 0
			for range nodes {
				if <-recorded {
					count++
				}
			}
			equal(t, 1, count)
			equal(t, round+1, f.number(t, "rules"))
		}
		// A late node that has read version a: other nodes have recorded a and later versions.
		for _, c := range []struct {
			from int64
			want bool
		}{{0, false}, {2, false}, {3, true}} {
			recorded, err := f.TakeRules(t.Context(), Ann, c.from, &ledger.RulesVersion{Version: "a"})
			noError(t, err)
			equal(t, c.want, recorded)
		}
		equal(t, 5, len(f.changes(t, ledger.ChangeFilter{Object: "rules"})))
	}},
	{"a page of changes ends where states are large, and no change is left out", func(t *testing.T, f *fixture) {
		noError(t, f.PutType(t.Context(), Ann, repNotice()))
		const imports, each = 3, 10_000
		for i := range imports {
			subs := make([]ledger.Subscription, each)
			for n := range subs {
				subs[n] = ledger.Subscription{Type: "REP_NOTICE", Warehouse: fmt.Sprintf("w%062d", n), Subscriber: fmt.Sprintf("user:%0128d", i)}
			}
			f.subscribe(t, subs...)
		}
		filter := ledger.ChangeFilter{Limit: 100}
		var pages []int
		for {
			list, more, err := f.Changes(t.Context(), filter)
			noError(t, err)
			pages = append(pages, len(list))
			if !more {
				break
			}
			filter.Before = list[len(list)-1].Seq
		}
		equal(t, []int{2, 2}, pages)
		noError(t, CheckAudit(t.Context(), f.Ledger))
	}},
}

// wantedRecords has the records of recordedChanges, one line each.
//
//go:embed records.txt
var wantedRecords string

// Now is the time of the ledgers of CheckBroken.
func Now() time.Time { return start }

// CheckBroken makes each recorded change over connections that break, until the change is made. try calls do for the
// n-th time, on a connection that breaks later with each n. try returns when the server has finished the statements
// that reached it. After each call, the state and the records of the ledger must agree. CheckBroken reads both through
// direct.
func CheckBroken(t *testing.T, direct ledger.Ledger, try func(n int, do func(l ledger.Ledger) error) error) {
	t.Helper()
	for _, c := range recordedChanges() {
		if c.prepare != nil {
			noError(t, c.prepare(t.Context(), direct))
		}
		before, err := look(t.Context(), direct)
		noError(t, err)
		for tries := 1; ; tries++ {
			err := try(tries, func(l ledger.Ledger) error { return c.do(t.Context(), l, Ann) })
			after, lookErr := look(t.Context(), direct)
			noError(t, lookErr)
			noError(t, CheckAudit(t.Context(), direct))
			if after.Records != before.Records { // even if the answer was lost
				equal(t, before.Records+1, after.Records)
				break
			}
			equal(t, before, after)
			if err == nil || tries == 1000 {
				t.Fatalf("%s: %v, and nothing was changed", c.method, err)
			}
		}
	}
}
