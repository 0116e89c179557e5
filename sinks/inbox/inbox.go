package inbox

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"tallyman/sinks"
	"tallyman/sinks/inbox/page"
	"tallyman/sinks/recovery"
)

// Inbox is the sink and the reader's side of it. It implements sinks.Sink.
type Inbox struct {
	o       Options
	log     *slog.Logger
	keys    keys
	scripts scripts

	keeper *recovery.Keeper

	clocks  clockReader
	waiters waiters
	watches watches
	counts  counts
	sweeps  singleflight.Group // of warehouses

	mu         sync.Mutex
	warehouses map[string]bool // that have a clock in Redis, as far as this node knows
}

var _ sinks.Sink = (*Inbox)(nil)

// New returns an inbox that waits for Run.
func New(o Options) (*Inbox, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	k, err := newKeys(o.Prefix, o.Sink)
	if err != nil {
		return nil, err
	}
	in := &Inbox{o: o, log: o.Logger.With("sink", o.Sink), keys: k, scripts: newScripts(), warehouses: map[string]bool{}}
	in.clocks.ask = in.askClocks
	in.keeper, err = recovery.New(recovery.Options{
		Client: o.Client, Watch: o.Watch, Ledger: o.Ledger, Contents: contents{in}, Node: o.Node, Sink: o.Sink,
		EpochKey: k.epoch(), Channel: k.hints(), Logger: in.log, Unavailable: page.ErrUnavailable,
	})
	if err != nil {
		return nil, err
	}
	return in, nil
}

// Run keeps the index in order until the context ends: it checks that Redis is still what it was and rebuilds it if not,
// removes what has expired, and listens for hints. What goes wrong is logged and tried again.
func (in *Inbox) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { in.keeper.Run(ctx) })
	wg.Go(func() { in.sweepAll(ctx) })
	wg.Go(func() { in.trimAll(ctx) })
	wg.Go(func() { in.catchUpAll(ctx) })
	wg.Go(func() { in.listen(ctx) })
	wg.Go(func() { in.watchClocks(ctx) })
	wg.Wait()
}

// every does something again and again until the context ends.
func every(ctx context.Context, d time.Duration, do func()) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			do()
		case <-ctx.Done():
			return
		}
	}
}

// Ready returns nil while the inbox serves, otherwise the reason why it does not.
func (in *Inbox) Ready() error {
	if err := in.keeper.Ready(); err != nil {
		return fmt.Errorf("inbox: %w", err)
	}
	return nil
}

// Check asks Redis what a site must not leave to chance, before anything is served. The error is recovery.ErrEvicts, or
// that Redis is out of reach.
func (in *Inbox) Check(ctx context.Context) error { return in.keeper.Check(ctx) }

// now is the scripts' argument: 0 is the server's own clock.
func (in *Inbox) now() string {
	if in.o.Now == nil {
		return "0"
	}
	return strconv.FormatInt(in.o.Now().UnixMicro(), 10)
}

func (in *Inbox) knows(warehouse string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.warehouses[warehouse]
}

func (in *Inbox) learn(warehouse string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.warehouses[warehouse] = true
}

// knowOnly replaces what is known when an epoch begins.
func (in *Inbox) knowOnly(highest map[string]int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	clear(in.warehouses)
	for w := range highest {
		in.warehouses[w] = true
	}
}

func (in *Inbox) known() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	out := make([]string, 0, len(in.warehouses))
	for w := range in.warehouses {
		out = append(out, w)
	}
	return out
}
