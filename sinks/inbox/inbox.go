package inbox

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"

	"tallyman/sinks"
)

// Inbox is the sink and the reader's side of it. It implements sinks.Sink.
type Inbox struct {
	o       Options
	log     *slog.Logger
	keys    keys
	scripts scripts

	generations *generations
	kick        chan struct{}         // asks for a check at once
	policy      atomic.Bool           // the eviction policy was found to be fine
	newest      atomic.Int64          // the highest number of an epoch that was met in Redis
	reach       atomic.Pointer[error] // why the last check did not reach Redis; nil = it did

	clocks  clockReader
	waiters waiters
	counts  counts

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
	in := &Inbox{
		o: o, log: o.Logger.With("sink", o.Sink), keys: k, scripts: newScripts(),
		generations: newGenerations(), kick: make(chan struct{}, 1), warehouses: map[string]bool{},
	}
	in.clocks.ask = in.askClocks
	o.Watch.listen(in.connected)
	return in, nil
}

// Run keeps the index in order until the context ends: it checks that Redis is still what it was and rebuilds it if not,
// removes what has expired, and listens for hints. What goes wrong is logged and tried again.
func (in *Inbox) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { in.keep(ctx) })
	wg.Go(func() { in.sweepAll(ctx) })
	wg.Go(func() { in.listen(ctx) })
	wg.Wait()
}

// Ready returns nil while the inbox serves, otherwise the reason why it does not.
func (in *Inbox) Ready() error {
	g, _, cause := in.generations.get()
	if g == nil {
		return fmt.Errorf("inbox: %w", cause)
	}
	if err := in.reach.Load(); err != nil {
		return fmt.Errorf("inbox: redis: %w", *err)
	}
	return nil
}

// connected is told of every new connection before it is used.
func (in *Inbox) connected(runID string) {
	if in.generations.connected(runID) {
		in.log.Warn("Redis is another server than before: its contents are not trusted", "run_id", runID)
		in.checkNow()
	}
}

// lose ends the generation; the next check finds out what there is.
func (in *Inbox) lose(g *generation, cause error) {
	if in.generations.lose(g, cause) {
		in.log.Warn("the index is not trusted any more", "epoch", g.epoch, "cause", cause)
	}
	in.checkNow()
}

func (in *Inbox) checkNow() {
	select {
	case in.kick <- struct{}{}:
	default: // one is waiting already
	}
}

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
