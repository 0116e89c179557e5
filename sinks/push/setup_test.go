package push_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/testenv"
	"tallyman/sinks"
	"tallyman/sinks/push"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// call is one call of the channel.
type call struct {
	at       time.Time
	seqs     []int64
	deadline time.Time
}

// channel is a push channel that answers by script, and remembers what it was asked.
type channel struct {
	answer func(ctx context.Context, batch []delivery.Delivery) error

	mu    sync.Mutex
	calls []call
	now   int // under way
	most  int // were under way at a time
}

var errDown = errors.New("the other side is down")

func (c *channel) Push(ctx context.Context, batch []delivery.Delivery) error {
	one := call{at: time.Now()}
	one.deadline, _ = ctx.Deadline()
	for _, d := range batch {
		one.seqs = append(one.seqs, d.Seq)
	}
	c.mu.Lock()
	c.calls = append(c.calls, one)
	c.now++
	c.most = max(c.most, c.now)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.now--
	}()
	if c.answer == nil {
		return nil
	}
	return c.answer(ctx, batch)
}

// heard returns the calls so far.
func (c *channel) heard() []call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]call(nil), c.calls...)
}

// times returns when a delivery was tried, from the start on.
func (c *channel) times(seq int64, start time.Time) []time.Duration {
	var list []time.Duration
	for _, one := range c.heard() {
		for _, s := range one.seqs {
			if s == seq {
				list = append(list, one.at.Sub(start))
			}
		}
	}
	return list
}

// script answers by the notice's number: the first of its errors first, then nil for ever.
func script(errs map[int64][]error) func(context.Context, []delivery.Delivery) error {
	var mu sync.Mutex
	left := maps.Clone(errs)
	return func(_ context.Context, batch []delivery.Delivery) error {
		mu.Lock()
		defer mu.Unlock()
		list := left[batch[0].Seq]
		if len(list) == 0 {
			return nil
		}
		left[batch[0].Seq] = list[1:]
		return list[0]
	}
}

// hang answers when the call's context ends.
func hang(ctx context.Context, _ []delivery.Delivery) error {
	<-ctx.Done()
	return ctx.Err()
}

// counts is an observer.
type counts struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counts) DeliveryTook(_ string, d time.Duration) {
	if d >= 0 {
		c.DeliveryDone("", "took", 1)
	}
}

func (c *counts) DeliveryDone(_, outcome string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[outcome] += n
}

func (c *counts) all() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.n)
}

// world is a runner with its ledger and its channel, in a bubble of time.
type world struct {
	*testing.T
	*memory
	*channel
	runner  *push.Runner
	options push.Options
	counts  *counts
	start   time.Time
	stop    func()
}

// inBubble starts a runner whose options change may adapt, and stops it at the end.
func inBubble(t *testing.T, change func(*push.Options), answer func(context.Context, []delivery.Delivery) error, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, change, answer)
		defer w.stop()
		test(w)
	})
}

func newWorld(t *testing.T, change func(*push.Options), answer func(context.Context, []delivery.Delivery) error) *world {
	t.Helper()
	w := &world{T: t, memory: &memory{}, channel: &channel{answer: answer}, counts: &counts{n: map[string]int{}}, start: time.Now()}
	o := push.Options{
		Sink: "gateway", Session: newTenure("one"), Ledger: w.memory, Pusher: w.channel, Observer: w.counts,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	if change != nil {
		change(&o)
	}
	w.options = o
	w.runner, w.stop = w.run()
	return w
}

// run starts a runner.
func (w *world) run() (r *push.Runner, stop func()) {
	w.Helper()
	r, err := push.New(w.options)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan struct{})
	go func() { r.Run(ctx); close(ended) }()
	return r, func() { cancel(); <-ended }
}

// another starts the same on a second node, which ends with the first.
func (w *world) another() {
	w.Helper()
	w.options.Session = newTenure("two")
	first := w.stop
	_, second := w.run()
	w.stop = func() { first(); second() }
}

// commit adds a delivery and wakes the runner, as the engine does after a commit.
func (w *world) commit(finding string, s delivery.Strategy) int64 {
	seq := w.add(finding, s, 72*time.Hour)
	w.runner.Wake()
	return seq
}

// wait lets the time d pass, with everything that happens in it.
func wait(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // in a synctest bubble
	synctest.Wait()
}

// asksLate delays each claim for three seconds on its way to the ledger, while on returns true.
func asksLate(o *push.Options, on func() bool) {
	m, _ := o.Ledger.(*memory)
	m.onWay = func() {
		if on() {
			<-time.After(3 * time.Second)
		}
	}
}

// patient is a breaker that never opens.
func patient(o *push.Options) { o.Breaker.Failures = 1 << 30 }

var (
	immediate = delivery.Strategy{Kind: delivery.Immediate}
	important = delivery.Strategy{Kind: delivery.Important}
	untilSent = delivery.Strategy{Kind: delivery.Important, Until: delivery.UntilSent}
)

func delayed(d time.Duration, retry int) delivery.Strategy {
	return delivery.Strategy{Kind: delivery.Delayed, Delay: d, Retry: retry}
}

func timed(within time.Duration) delivery.Strategy {
	return delivery.Strategy{Kind: delivery.Timed, Within: within}
}

func refuse(seqs ...int64) error {
	return &sinks.RefusedError{Seqs: seqs, Err: errors.New("no such bin")}
}
