package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
)

// The default lease of a session and its bounds.
const (
	DefaultLease = 4 * time.Second
	MinLease     = time.Second
	MaxLease     = time.Minute
)

const (
	beats       = 8                      // Renewals in the length of a lease. The last eighth of a lease is the safety margin.
	timeouts    = 4                      // The ledger may take a quarter of a lease to answer.
	leastWait   = 500 * time.Millisecond // The ledger always gets at least this long to answer.
	beginWithin = 5 * time.Second        // Time to take a session. A connection may have to be opened first.
	aloneEvery  = 5 * time.Second        // Time between renewals where no other node can bury the session.
	buryWithin  = 30 * time.Second       // Time for one burial. Without a burial, firings, lanes and deliveries become free when their own leases end.
	byeWithin   = 2 * time.Second        // Time for the ledger to answer a node that stops.
	neverEnds   = 100 * 365 * 24 * time.Hour
)

// Event is an event in the life of sessions, for metrics.
type Event string

// The events.
const (
	Buried Event = "buried" // This node has ended the session of another.
	Lost   Event = "lost"   // Another node has ended the session of this one.
	Lapsed Event = "lapsed" // The session of this node could not be renewed in time.
)

// Events returns all events.
func Events() []Event { return []Event{Buried, Lost, Lapsed} }

// Options are the settings of a Keeper. Ledger and Node are needed.
type Options struct {
	Ledger  ledger.Sessions
	Node    string        // The node's name. Several nodes may have the same.
	Version string        // Version of the program.
	Lease   time.Duration // DefaultLease
	// Alone says that no other process has the ledger open. Then no node can bury the session, and every other session in
	// the ledger belongs to a process that is gone.
	Alone   bool
	Observe func(Event)
	Turned  func() // Called at each turn of the loop that renews the session.
	Logger  *slog.Logger
}

// Keeper keeps the session of a node. Its methods may be called from many goroutines.
type Keeper struct {
	o       Options
	log     *slog.Logger
	started time.Time
	watcher watcher
	none    chan struct{} // Always closed.
	changed func()        // The callback of Run; guarded by mu.

	renewing sync.Mutex // Held while the keeper asks the ledger for a session or a renewal. Taken before mu.

	mu    sync.Mutex
	rules string               // Hash of the rules that the node runs.
	own   tenure               // The present session.
	fault error                // Why the last renewal failed.
	ended map[string]time.Time // Sessions that have ended. Until this time the watcher goes on to free the things that the session held.
}

// tenure is a session, from its beginning to its end.
type tenure struct {
	id     string      // "" = the node has no session.
	lasts  time.Time   // Without a renewal the session is in force until this time.
	steady time.Time   // Every renewal since this time came in time. Zero = there was a gap just now.
	alarm  *time.Timer // Fires at lasts.

	isLapsed bool
	lapsed   chan struct{} // Closed when the session is no longer in force. A later renewal makes a new channel.
	ended    chan struct{} // Closed when the ledger has ended the session, or when the node stops.
}

// New makes a keeper that has no session yet.
func New(o Options) *Keeper {
	o.Lease = cmp.Or(o.Lease, DefaultLease)
	if o.Observe == nil {
		o.Observe = func(Event) {}
	}
	if o.Turned == nil {
		o.Turned = func() {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	none := make(chan struct{})
	close(none)
	k := &Keeper{o: o, log: o.Logger, started: time.Now().UTC(), none: none, changed: func() {}, own: tenure{ended: none}, ended: map[string]time.Time{}}
	k.watcher.Keeper = k
	return k
}

// Begin takes a session. Until Begin succeeds, the node holds nothing. Run tries again after a failure.
func (k *Keeper) Begin(ctx context.Context) error {
	k.renewing.Lock()
	defer k.renewing.Unlock()
	if id, _ := k.Own(); id != "" {
		return nil
	}
	return k.begin(ctx)
}

func (k *Keeper) begin(ctx context.Context) error {
	id := delivery.SessionID(k.o.Node, unique())
	k.mu.Lock()
	n := ledger.Node{Session: id, Name: k.o.Node, Version: k.o.Version, Rules: k.rules, Started: k.started}
	k.mu.Unlock()
	asked := time.Now()
	bounded, done := context.WithTimeout(ctx, beginWithin)
	defer done()
	if err := k.o.Ledger.BeginSession(bounded, n, k.o.Lease); err != nil {
		return err
	}
	if k.o.Alone {
		if err := k.endOthers(bounded, id); err != nil {
			return err
		}
	}
	k.mu.Lock()
	k.own = tenure{id: id, steady: time.Now(), lapsed: make(chan struct{}), ended: make(chan struct{})}
	k.enforce(asked)
	changed := k.changed
	k.mu.Unlock()
	changed()
	return nil
}

// unique returns a new random text.
func unique() string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// endOthers ends the sessions that earlier processes left behind. The session "but" stays.
func (k *Keeper) endOthers(ctx context.Context, but string) error {
	list, err := k.o.Ledger.Nodes(ctx)
	if err != nil {
		return err
	}
	var left []string
	for i := range list {
		if list[i].Session != but {
			left = append(left, list[i].Session)
		}
	}
	return k.o.Ledger.EndSessions(ctx, left)
}

// Run keeps the session until the context ends, and then ends the session. It logs errors and tries again.
//
// Run calls changed when the session of another node is gone, and when the session of this node is in force again: then
// there may be firings, lanes or deliveries to take over. The callback must not block.
func (k *Keeper) Run(ctx context.Context, changed func()) {
	k.mu.Lock()
	k.changed = changed
	k.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() { k.keep(ctx) })
	if !k.o.Alone {
		wg.Go(func() { k.watcher.run(ctx) })
	}
	wg.Wait()
	k.leave(ctx)
}

// keep renews the session again and again. It does nothing else, so that no slow call can delay a renewal.
func (k *Keeper) keep(ctx context.Context) {
	every := k.o.Lease / beats
	if k.o.Alone {
		every = max(every, aloneEvery)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		k.o.Turned()
		if err := k.Renew(ctx); err != nil && ctx.Err() == nil {
			k.log.Debug("Session of this node was not renewed. The node tries again at the next renewal.", "error", err, "every", every)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Announce records which rules the node runs.
func (k *Keeper) Announce(ctx context.Context, rules string) error {
	k.mu.Lock()
	k.rules = rules
	k.mu.Unlock()
	return k.Renew(ctx)
}

// Renew renews the session. Where the ledger has ended the session, the node gets another one.
func (k *Keeper) Renew(ctx context.Context) error {
	k.renewing.Lock()
	defer k.renewing.Unlock()
	k.mu.Lock()
	id, rules := k.own.id, k.rules
	k.mu.Unlock()
	if id == "" {
		return k.begin(ctx)
	}
	asked := time.Now()
	bounded, done := context.WithTimeout(ctx, k.answerWithin())
	defer done()
	err := k.o.Ledger.RenewSession(bounded, id, rules, k.o.Lease)
	switch {
	case err == nil:
		k.renewed(id, asked)
		return nil
	case errors.Is(err, ledger.ErrFenced):
		return k.lose(ctx, id)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.own.steady, k.fault = time.Time{}, err
	return err
}

func (k *Keeper) answerWithin() time.Duration {
	if k.o.Alone {
		return aloneEvery
	}
	return max(k.o.Lease/timeouts, leastWait)
}

// renewed records a renewal. The new lease counts from the time of the request, which is never later than the ledger's
// own beginning of the lease.
func (k *Keeper) renewed(id string, asked time.Time) {
	k.mu.Lock()
	if k.own.id != id {
		k.mu.Unlock()
		return
	}
	now := time.Now()
	if !now.Before(asked.Add(k.holdsFor())) { // The process was frozen. What the ledger has said is too old.
		k.mu.Unlock()
		return
	}
	if k.own.steady.IsZero() || now.Sub(k.own.lasts.Add(-k.holdsFor())) > k.o.Lease/2 {
		k.own.steady = now
	}
	lapsed, changed := k.own.isLapsed, k.changed
	k.enforce(asked)
	k.fault = nil
	k.mu.Unlock()
	if lapsed {
		k.log.Warn("Session of this node is renewed again. Deliveries go on.", "session", id)
		changed()
	}
}

// holdsFor is how long a session is in force after the request of its renewal. The rest of the lease is a margin for
// calls that are just ending, and for clocks that run at different speeds.
func (k *Keeper) holdsFor() time.Duration {
	if k.o.Alone {
		return neverEnds
	}
	return k.o.Lease - k.o.Lease/beats
}

// lapse takes the session out of force. The caller holds Keeper.mu.
func (t *tenure) lapse() {
	if !t.isLapsed {
		t.isLapsed = true
		close(t.lapsed)
	}
}

// enforce puts the session in force. The caller holds Keeper.mu.
func (k *Keeper) enforce(asked time.Time) {
	t := &k.own
	t.lasts = asked.Add(k.holdsFor())
	if t.isLapsed {
		t.isLapsed, t.lapsed = false, make(chan struct{})
	}
	if t.alarm != nil {
		t.alarm.Stop()
	}
	id := t.id
	t.alarm = time.AfterFunc(time.Until(t.lasts), func() { k.overrun(id) })
}

// overrun takes the session out of force if no renewal came in time.
func (k *Keeper) overrun(id string) {
	k.mu.Lock()
	if k.own.id != id || time.Now().Before(k.own.lasts) || k.own.isLapsed {
		k.mu.Unlock()
		return
	}
	k.own.steady = time.Time{}
	k.own.lapse()
	fault := k.fault
	k.mu.Unlock()
	k.o.Observe(Lapsed)
	k.log.Warn("Session of this node was not renewed in time. The node delivers nothing until the ledger answers.",
		"session", id, "lease", k.o.Lease, "error", fault)
}

// lose drops the session that another node has ended, and takes a new one.
func (k *Keeper) lose(ctx context.Context, id string) error {
	if k.drop() == "" {
		return nil
	}
	k.o.Observe(Lost)
	k.log.Warn("Another node has ended the session of this node, because the session was not renewed in time. "+
		"What this node held is free. The node takes another session.", "session", id, "lease", k.o.Lease)
	return k.begin(ctx)
}

// drop ends the session on this node only. It returns the id of the session, or "" where there was none.
func (k *Keeper) drop() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	old := k.own
	if old.id == "" {
		return ""
	}
	k.own = tenure{ended: k.none}
	k.ended[old.id] = time.Now().Add(k.o.Lease)
	old.alarm.Stop()
	old.lapse()
	close(old.ended)
	return old.id
}

// leave ends the session of a node that stops.
func (k *Keeper) leave(ctx context.Context) {
	id := k.drop()
	if id == "" {
		return
	}
	bye, done := context.WithTimeout(context.WithoutCancel(ctx), byeWithin)
	defer done()
	if err := k.o.Ledger.EndSessions(bye, []string{id}); err != nil {
		k.log.Warn("Session of this node could not be ended. Other nodes wait for the end of its lease.", "session", id, "lease", k.o.Lease, "error", err)
	}
}

// Hold returns the id of the session, and a channel that closes when the session is no longer in force: no renewal came
// in time, or the ledger has ended the session. Where no session is in force, Hold returns "" and a closed channel.
func (k *Keeper) Hold() (id string, lapsed <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.holds() {
		return "", k.none
	}
	return k.own.id, k.own.lapsed
}

// Holds tells whether the session is in force at this moment. It compares times and does not rely on a timer: after a
// process was frozen, its timers may fire too late.
func (k *Keeper) Holds(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return id == k.own.id && k.holds()
}

func (k *Keeper) holds() bool {
	return k.own.id != "" && !k.own.isLapsed && time.Now().Before(k.own.lasts)
}

// Own is like Hold, for work whose writes the ledger itself refuses after the session has ended. It returns the session
// also when the session is not in force. The channel closes only when the ledger has ended the session, or when the
// node stops.
func (k *Keeper) Own() (id string, ended <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.own.id, k.own.ended
}
