package queue

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

// mustSet changes the settings of the queue as an operator does.
func (n *node) mustSet(t testing.TB, set item.LiveSettings, reset ...string) {
	t.Helper()
	if err := n.ChangeSettings(t.Context(), anOrder, item.SettingsChange{Set: set, Reset: reset}); err != nil {
		t.Fatal(err)
	}
}

// Other settings count for what happens after the change. They move nothing that waits.
func TestWhatWaitsWhenSettingsChange(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		clock := newTestClock(time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC))
		began := clock.now()
		n := newNode(t, t.addr, newMemoryLedger(), clock.option, func(o *Options) {
			o.Lease, o.MaxAttempts, o.SuspendSteps = time.Hour, 5, []time.Duration{2 * time.Hour, 12 * time.Hour}
		})
		n.mustPush(t, newItems(3, 3, "i")...)
		n.mustLease(t, "w", 3)
		n.mustDo(t, item.Op{Kind: item.Suspend, ID: "i1", Attempt: 1}, item.OK)
		n.mustDo(t, item.Op{Kind: item.Nack, ID: "i2", Attempt: 1}, item.OK)
		has := func(id string, state item.State, due time.Time) {
			t.Helper()
			if got, err := n.Get(t.Context(), false, nil, id); err != nil || got.Item.State != state || !got.Item.Due.Equal(due) {
				t.Errorf("%s is %s, due %v, %v; want %s, %v", id, got.Item.State, got.Item.Due, err, state, due)
			}
		}

		lease, most := 10*time.Minute, 1
		n.mustSet(t, item.LiveSettings{Lease: &lease, MaxAttempts: &most, SuspendSteps: []time.Duration{time.Minute}})
		has("i1", item.Suspended, began.Add(2*time.Hour))
		has("i2", item.Ready, time.Time{}) // it has failed as often as is allowed now, and dies of its next failure
		has("i3", item.Leased, began.Add(time.Hour))

		clock.advance(30 * time.Minute)
		if got := n.mustLease(t, "w", 3); len(got) != 1 || got[0].ID != "i2" || !got[0].Until.Equal(clock.now().Add(lease)) {
			t.Fatalf("leased %+v", got)
		}
		n.mustDo(t, item.Op{Kind: item.Nack, ID: "i2", Attempt: 2}, item.OK)
		has("i2", item.Dead, clock.now())
		n.mustDo(t, item.Op{Kind: item.Extend, ID: "i3", Attempt: 1}, item.OK)
		has("i3", item.Leased, clock.now().Add(lease))
		n.mustDo(t, item.Op{Kind: item.Ack, ID: "i3", Attempt: 1}, item.OK)

		clock.advance(90 * time.Minute)
		i1 := n.mustLease(t, "w", 3)
		if len(i1) != 1 || i1[0].Suspends != 1 {
			t.Fatalf("leased %+v", i1)
		}
		op := item.Op{Kind: item.Suspend, ID: "i1", Attempt: i1[0].Attempt}
		n.mustDo(t, op, item.SuspendLimit) // the one step is used
		n.mustSet(t, item.LiveSettings{SuspendSteps: []time.Duration{time.Hour, 3 * time.Hour}})
		n.mustDo(t, op, item.OK)
		has("i1", item.Suspended, clock.now().Add(3*time.Hour)) // the second of the new steps

		none := item.NoLimit
		n.mustSet(t, item.LiveSettings{MaxAttempts: &none})
		has("i2", item.Dead, began.Add(30*time.Minute)) // what is dead stays so
		n.mustPush(t, newItems(1, 5, "often")...)
		for attempt := range 12 {
			n.mustLease(t, "w", 1)
			n.mustDo(t, item.Op{Kind: item.Nack, ID: "often1", Attempt: attempt + 1}, item.OK)
		}
		n.mustLease(t, "w", 1)
		clock.advance(lease)
		if got := n.mustLease(t, "w", 1); got[0].Failures != 13 {
			t.Errorf("%+v", got)
		}
	})
}

// The twin has the settings of its queue. Another node has those of the ledger as soon as it reads them. A reset
// setting is as configured.
func TestSettingsOfNodesAndTwins(t *testing.T) {
	t.Parallel()
	ledger := newMemoryLedger()
	addr := testenv.Redis(t).Addr
	one, two := newNode(t, addr, ledger), newNode(t, addr, ledger)
	none, lease := item.NoLimit, 2*time.Minute
	one.mustSet(t, item.LiveSettings{MaxAttempts: &none, SuspendSteps: []time.Duration{}})
	one.mustSet(t, item.LiveSettings{Lease: &lease})
	if err := two.ReadSettings(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, n := range []*node{one, two} {
		s := n.Settings()
		in := s.InForce()
		if in.MaxAttempts != item.NoLimit || in.Lease != lease || len(in.SuspendSteps) != 0 || s.Configured.MaxAttempts != 5 ||
			!slices.Equal(s.Live.Names(), item.SettingNames()) || s.Live.By != anOrder.By || s.Live.At.IsZero() {
			t.Errorf("%+v", s)
		}
		for _, l := range n.lines {
			if now := l.settings.now(); now.steps != "" || now.Lease != lease {
				t.Errorf("%s: %+v", l.name, now)
			}
		}
	}
	two.mustSet(t, item.LiveSettings{}, item.MaxAttemptsSetting, item.SuspendStepsSetting)
	if s := two.Settings(); !slices.Equal(s.Live.Names(), []string{item.LeaseSetting}) || s.InForce().MaxAttempts != 5 || len(s.InForce().SuspendSteps) != 2 {
		t.Errorf("%+v", s)
	}
	if s := one.Settings(); s.InForce().MaxAttempts != item.NoLimit {
		t.Errorf("a node that has not read them has %+v", s)
	}
	if n := len(ledger.changes); n != 3 {
		t.Errorf("%d records", n)
	}
}

// A setting that the configuration would refuse is refused, and changes nothing.
func TestSettingsAreBounded(t *testing.T) {
	t.Parallel()
	ledger := newMemoryLedger()
	n := newNode(t, testenv.Redis(t).Addr, ledger)
	d := func(d time.Duration) *time.Duration { return &d }
	number := func(n int) *int { return &n }
	for want, c := range map[string]item.SettingsChange{
		"settings: is empty: name a setting to set or to reset":        {},
		"lease: is 0.5s, at least 1s is needed":                        {Set: item.LiveSettings{Lease: d(time.Second / 2)}},
		"lease: is 25h, at most 24h is possible":                       {Set: item.LiveSettings{Lease: d(25 * time.Hour)}},
		"maxAttempts: is -1, at least 1 is needed":                     {Set: item.LiveSettings{MaxAttempts: number(-1)}},
		"suspendSteps: has 0s at place 2, at least 1s is needed":       {Set: item.LiveSettings{SuspendSteps: []time.Duration{time.Hour, 0}}},
		"suspendSteps: has 8785h at place 1, at most 366d is possible": {Set: item.LiveSettings{SuspendSteps: []time.Duration{8785 * time.Hour}}},
		"suspendSteps: has 101 steps, at most 100 are possible":        {Set: item.LiveSettings{SuspendSteps: make([]time.Duration, 101)}},
		"reset: must be one of lease, maxAttempts, suspendSteps":       {Reset: []string{"dedupe"}},
		"reset: names maxAttempts, which is set as well":               {Set: item.LiveSettings{MaxAttempts: number(1)}, Reset: []string{"maxAttempts"}},
	} {
		err := n.ChangeSettings(t.Context(), anOrder, c)
		if invalid, ok := errors.AsType[*item.InvalidError](err); !ok || invalid.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if s := n.Settings(); len(s.Live.Names()) != 0 || len(ledger.changes) != 0 {
		t.Errorf("%+v, %d records", s, len(ledger.changes))
	}
}

// Without a ledger a change cannot be stored. If the ledger fails, the settings stay the same.
func TestSettingsWithoutTheLedger(t *testing.T) {
	t.Parallel()
	most, other := 1, 2
	c := item.SettingsChange{Set: item.LiveSettings{MaxAttempts: &most}}
	n := newNode(t, testenv.Redis(t).Addr, nil)
	if err := n.ChangeSettings(t.Context(), anOrder, c); err == nil || !strings.Contains(err.Error(), "set them in the configuration") {
		t.Error(err)
	}
	ledger := newMemoryLedger()
	n = newNode(t, testenv.Redis(t).Addr, ledger)
	n.mustSet(t, c.Set)
	ledger.fail(errors.New("away"))
	if err := n.ReadSettings(t.Context()); err == nil || !strings.Contains(err.Error(), "live settings of queue "+queueName) {
		t.Error(err)
	}
	c.Set.MaxAttempts = &other
	if err := n.ChangeSettings(t.Context(), anOrder, c); err == nil {
		t.Error("a change was made that the ledger does not have")
	}
	if s := n.Settings(); s.InForce().MaxAttempts != 1 {
		t.Errorf("%+v", s)
	}
}
