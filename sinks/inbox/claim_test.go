package inbox

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"tallyman/internal/delivery"
	"tallyman/sinks/recovery"
)

// wiped is a hook that does something once, after the first call of wipe.lua.
type wiped struct {
	script string // its hash
	once   sync.Once
	do     func()
}

func (w *wiped) DialHook(next redis.DialHook) redis.DialHook { return next }

func (w *wiped) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (w *wiped) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		args := cmd.Args()
		called := cmd.Name() == "evalsha" && args[1] == w.script || cmd.Name() == "eval" && redis.NewScript(args[1].(string)).Hash() == w.script
		if err == nil && called {
			w.once.Do(w.do)
		}
		return err
	}
}

// calls are those that change a warehouse for a notice and a user, in an epoch.
func (n *node) calls(t testing.TB, epoch string, d *delivery.Delivery, user string) map[string]func() error {
	t.Helper()
	put := func(d *delivery.Delivery, to ...string) func() error {
		e, err := n.newEntry(&delivery.Delivery{Notice: d.Notice, Recipients: to}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return func() error {
			_, err := n.put(t.Context(), wh, n.newFanoutCall(epoch, wh, "", []entry{e}))
			return err
		}
	}
	g := &recovery.Generation{Epoch: epoch}
	return map[string]func() error{
		"a notice":      put(d, d.Recipients...),
		"a wide notice": put(&makeDeliveries(1, wh)[0], "user:1", "user:2", "user:3"),
		"a mark": func() error {
			args := append(n.markHead(g, wh, []string{user}), user, 1, "r", d.Notice.ID, 0)
			_, err := n.runCount(t.Context(), n.scripts.mark, []string{n.keys.clock(wh), n.keys.readers(wh), n.keys.marks(wh, user)}, args...)
			return err
		},
		"a watermark": func() error {
			args := append(n.markHead(g, wh, []string{user}), user, keepUpto, keepInboxes, user, 1, 0)
			_, err := n.runCount(t.Context(), n.scripts.readAll, []string{n.keys.clock(wh), n.keys.readers(wh), n.keys.upto(wh, user)}, args...)
			return err
		},
		"a sweep": func() error { return n.sweepOne(t.Context(), epoch, wh) },
	}
}

// While one node empties a warehouse for the next epoch, another node may not know of it yet. If that node delivered a
// notice again in the old epoch, the notice would get another score, and a reader would get it twice.
func TestAWarehouseThatIsEmptiedIsInNoEpoch(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		ledger := newMemoryLedger()
		old, builder := newNode(t, t.addr, ledger, capsWide), newNode(t, t.addr, ledger)
		told := makeDeliveries(1, wh, "user:1")
		if _, err := old.Deliver(t.Context(), wh, told); err != nil { // the ledger does not know of it
			t.Fatal(err)
		}
		g, _ := old.keeper.Current()
		r, err := newReader(after(query("user:1"), old.poll(t, query("user:1")).Cursor))
		if err != nil {
			t.Fatal(err)
		}
		const next = "9-next"
		hook := &wiped{script: builder.scripts.wipe.Hash()}
		emptied := false
		hook.do = func() {
			emptied = true
			before := old.keysLike(t, "*{"+wh+"}*")
			for _, epoch := range []string{g.Epoch, next} {
				for what, call := range old.calls(t, epoch, &told[0], "user:1") {
					err := call()
					if other, ok := errors.AsType[*recovery.EpochError](err); !ok || other.Found != claim(next) {
						t.Errorf("%s of epoch %s: %v", what, epoch, err)
					}
				}
			}
			if diff := cmp.Diff(before, old.keysLike(t, "*{"+wh+"}*")); diff != "" {
				t.Errorf("keys that came or went: %s", diff)
			}
			if pg, err := old.read(t.Context(), g, r); !errors.Is(err, recovery.ErrLost) {
				t.Errorf("a reader got %v, reset %v: %v", ids(pg), pg.Reset, err)
			}
		}
		builder.client.AddHook(hook)
		if err := builder.beginWarehouse(t.Context(), next, wh, 0); err != nil {
			t.Fatal(err)
		}
		if !emptied {
			t.Error("nothing was removed")
		}
		states, err := builder.askClocks(t.Context(), []string{wh})
		if err != nil || states[0].epoch != next || states[0].clock == 0 {
			t.Errorf("%+v, %v", states, err)
		}
	})
}

// capsWide makes a notice for more than two inboxes wide.
func capsWide(o *Options) { o.maxInboxes = 2 }

// A node that does not hold the claim of a warehouse removes nothing there.
func TestOnlyTheClaimAllowsToEmptyAWarehouse(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		batch := makeDeliveries(1, wh, "user:1")
		n.deliver(t, batch)
		names := []string{"1", "0", "user:1"}
		if other, ok := errors.AsType[*recovery.EpochError](n.wipe(t.Context(), "9-next", wh, names)); !ok || other.Found != n.ledger.epoch() {
			t.Errorf("without a claim: %v", other)
		}
		if _, err := n.run(t.Context(), n.scripts.begin, n.keys.all(wh, 0), "9-next", n.now(), 0, maxWiped); err != nil {
			t.Fatal(err)
		}
		for _, epoch := range []string{"8-late", "9-other", "10-early"} {
			if err := n.wipe(t.Context(), epoch, wh, names); err == nil || !strings.Contains(err.Error(), claim("9-next")) {
				t.Errorf("epoch %s: %v", epoch, err)
			}
		}
		for _, epoch := range []string{"8-late", "9-other"} {
			if err := n.beginWarehouse(t.Context(), epoch, wh, 0); err == nil {
				t.Errorf("epoch %s began", epoch)
			}
		}
		if err := n.beginWarehouse(t.Context(), "10-early", wh, 0); err != nil { // who had the claim has died
			t.Error(err)
		}
	})
}

// A warehouse that the ledger does not have is opened by the first delivery. If a node died while it removed the data
// of an older epoch, readers find the warehouse empty, and the next delivery continues the removal.
func TestAClaimThatWasLeftIsTakenUp(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		ledger := newMemoryLedger()
		n := newNode(t, t.addr, ledger)
		if err := n.beginWarehouse(t.Context(), "0-old", wh, 0); err != nil {
			t.Fatal(err)
		}
		for what, call := range n.calls(t, "0-old", &makeDeliveries(1, wh, "user:1")[0], "user:1") {
			if err := call(); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		epoch := ledger.epoch()
		if left, err := n.run(t.Context(), n.scripts.begin, n.keys.all(wh, 0), epoch, n.now(), 0, maxWiped); err != nil || len(left) == 0 {
			t.Fatalf("%v, %v", left, err)
		}
		cursor := ""
		for range 2 {
			pg := n.poll(t, after(query("user:1"), cursor))
			if len(pg.Notices) != 0 || pg.Reset || pg.Unread != 0 {
				t.Errorf("%+v", pg)
			}
			cursor = pg.Cursor
		}
		batch := makeDeliveries(1, wh, "user:1")
		n.deliver(t, batch)
		if pg := n.poll(t, after(query("user:1"), cursor)); pg.Reset || !cmp.Equal(ids(pg), idsOf(batch)) {
			t.Errorf("%+v", pg)
		}
		if ledger.epochs() != 1 {
			t.Errorf("%d epochs", ledger.epochs())
		}
	})
}
