package demo

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"tallyman/internal/app"
	"tallyman/internal/demo/warehouse"
)

// Options are the options of the command line.
type Options struct {
	Listen  string        // host:port of the API. Port 0 means any free port.
	Seed    uint64        // The seed of the simulation. The same seed gives the same day.
	Speed   float64       // Minutes of the warehouse in a minute of the wall clock.
	For     time.Duration // The demo stops after this time. 0 means it runs until Ctrl-C.
	Workers int           // Forklifts that take refills from the queue. 0 means the warehouse refills its bins itself.
	Version string        // The version of the program.
	Out     io.Writer
	Color   bool
	Browse  bool // Open the console in the browser of this machine's user.
}

// head is how long the warehouse has worked before the demo begins.
const head = time.Hour

// lease is the node's lease, on the wall clock.
const lease = 30 * time.Second

// settle is the time between the stop of the warehouse and the summary, so that the rules see its last minutes.
const settle = 2 * time.Second

// Run runs the demo until ctx ends or its time is over. Then it prints how many findings were found, notified and
// resolved.
func Run(ctx context.Context, o Options) (err error) {
	if o.Speed <= 0 {
		return errors.New("demo: --speed must be above 0")
	}
	files, err := newFolder(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.close()) }()

	n := newNarrator(o.Out, o.Color)
	start := time.Now().UTC().Truncate(time.Minute)
	sim, err := openWarehouse(ctx, files.wms, o.Seed, start, n)
	if err != nil {
		return err
	}
	clock := NewClock(start, o.Speed)
	if o.Workers > 0 {
		sim.LeaveRefills()
	}
	carriers, err := openCarrier(ctx, clock)
	if err != nil {
		return err
	}
	defer carriers.close()
	cfg, err := files.config(o.Listen, clock, carriers.url("/late-orders"))
	if err != nil {
		return err
	}
	node, err := app.New(ctx, cfg, app.Options{
		Clock: clock, Lease: clock.Span(lease), Version: o.Version, Logger: slog.New(slog.NewTextHandler(o.Out, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Close()) }() //nolint:contextcheck // Close must work when the context is over.
	wms, err := openScreen(ctx, o.Listen, node.Addr())
	if err != nil {
		return err
	}
	defer wms.close()
	n.say(banner(o, node.Addr(), wms.url("/"), files.dir)...)

	d := &show{options: o, clock: clock, narrator: n, warehouse: sim, node: node, carriers: carriers, wms: wms}
	if err := d.play(ctx); err != nil {
		return err
	}
	return d.summary(context.WithoutCancel(ctx))
}

// openWarehouse returns a warehouse that has worked for an hour, so that the rules find something at once.
func openWarehouse(ctx context.Context, db *sql.DB, seed uint64, start time.Time, n *narrator) (*warehouse.Simulator, error) {
	tell := func(warehouse.Event) {} // The first hour is not narrated.
	sim, err := warehouse.New(ctx, db, seed, start.Add(-head), func(e warehouse.Event) { tell(e) })
	if err != nil {
		return nil, err
	}
	for at := start.Add(-head); at.Before(start); {
		at = at.Add(time.Minute)
		if err := sim.Step(ctx, at); err != nil {
			return nil, err
		}
	}
	tell = n.happened
	return sim, nil
}

// show is a running demo.
type show struct {
	options  Options
	clock    *Clock
	narrator *narrator
	node     *app.App
	carriers *server
	wms      *server

	floor     sync.Mutex // Held while the warehouse is changed.
	warehouse *warehouse.Simulator
}

// play runs the warehouse, the node and the clients until the time is over.
func (s *show) play(ctx context.Context) error {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var parts sync.WaitGroup
	part := func(run func(context.Context) error) {
		parts.Go(func() {
			if err := run(running); err != nil && running.Err() == nil {
				stop(err)
			}
		})
	}
	part(s.carriers.run)
	part(s.wms.run)
	part(s.node.Run)
	if s.options.Browse {
		browse(running, "http://"+s.node.Addr()+"/")
	}
	for _, c := range s.clients() {
		part(func(ctx context.Context) error { c.run(ctx); return nil })
	}
	for _, f := range s.forklifts() {
		part(func(ctx context.Context) error { f.run(ctx); return nil })
	}
	opened := ctx
	if s.options.For > 0 {
		var end context.CancelFunc
		opened, end = context.WithTimeout(ctx, s.options.For)
		defer end()
	}
	part(func(ctx context.Context) error {
		ctx, end := merge(ctx, opened)
		defer end()
		return s.live(ctx)
	})
	select {
	case <-running.Done():
	case <-opened.Done():
		s.rest(running)
	}
	cause := context.Cause(running)
	stop(nil)
	parts.Wait()
	if ctx.Err() != nil || errors.Is(cause, context.Canceled) {
		return nil
	}
	return cause
}

// rest waits until the rules have seen the last minutes, or until ctx ends.
func (s *show) rest(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(settle):
	}
}

// live moves the warehouse on, one minute of its time per step.
func (s *show) live(ctx context.Context) error {
	next := s.clock.Now().Add(time.Minute)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(s.clock.Real(next.Sub(s.clock.Now()))):
		}
		if err := s.step(ctx, next); err != nil && ctx.Err() == nil {
			return err
		}
		next = next.Add(time.Minute)
	}
}

func (s *show) step(ctx context.Context, now time.Time) error {
	s.floor.Lock()
	defer s.floor.Unlock()
	return s.warehouse.Step(ctx, now)
}

// fill refills a bin for a forklift.
func (s *show) fill(ctx context.Context, warehouse, bin, by string) (bool, error) {
	s.floor.Lock()
	defer s.floor.Unlock()
	return s.warehouse.Refill(ctx, s.clock.Now(), warehouse, bin, by)
}

// forklifts makes the workers of the queue. They work in both warehouses.
func (s *show) forklifts() []*forklift {
	list := make([]*forklift, s.options.Workers)
	for i := range list {
		list[i] = &forklift{
			http: &http.Client{}, base: "http://" + s.node.Addr(), name: fmt.Sprintf("forklift-%d", i+1),
			dice:  rand.New(rand.NewPCG(s.options.Seed, uint64(i))), //nolint:gosec // dice of a simulation
			clock: s.clock, fill: s.fill, tell: s.narrator.worked,
		}
	}
	return list
}

// clients makes the WMS clients: in each warehouse a keeper, who also gets the notices for the dock and the quality
// office.
func (s *show) clients() []*client {
	var list []*client
	for _, w := range []string{"119240", "119241"} {
		list = append(list, &client{
			http: &http.Client{}, base: "http://" + s.node.Addr(), warehouse: w,
			subscribers: []string{"role:keeper", "role:dock", "role:quality"}, got: s.narrator.noticed,
		})
	}
	return list
}

// merge returns a context that ends with either context.
func merge(a, b context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(a)
	stop := context.AfterFunc(b, cancel)
	return ctx, func() { stop(); cancel() }
}

func banner(o Options, addr, wms, dir string) []string {
	until := "until Ctrl-C"
	if o.For > 0 {
		until = "for " + o.For.String()
	}
	work := "Two rules also make work, items of a queue. What forklifts do with them:   →"
	if o.Workers == 0 {
		work = "Two rules also make work, items of a queue, and leave it to you: see examples/wms/README.md."
	}
	return []string{
		fmt.Sprintf("A warehouse %g times as fast as life, %s (seed %d). Its times are in UTC.", o.Speed, until, o.Seed),
		"Lines without a sign tell what happens in it. The others are notices that a WMS",
		"client has polled:   ! notice   !! urgent (priority 4 or 5)   ✓ resolved",
		work,
		"A webhook tells the carriers' system of late orders; that system is down for 12 minutes of each hour.",
		"",
		"  the console        http://" + addr + "/",
		"  a page of a WMS    " + wms,
		"",
		"  poll it yourself   curl 'http://" + addr + "/api/v1/notices?warehouse=119240&subscriber=role:keeper'",
		"  as XML             curl -H 'Accept: application/xml' 'http://" + addr + "/api/v1/notices?warehouse=119240&subscriber=role:keeper'",
		"  how much work      curl 'http://" + addr + "/api/v1/queues/replenishment'",
		"  what runs          curl 'http://" + addr + "/api/v1/status'",
		"  rules and data     " + dir,
		"",
	}
}

// Clock is the warehouse's clock. It runs speed times as fast as the wall clock. The engine uses it too, so the rules
// keep the schedules of a real site.
type Clock struct {
	start  time.Time // The start in the warehouse's time.
	origin time.Time // The start on the wall clock, with its monotonic reading.
	speed  float64
}

// NewClock starts a clock that shows start now.
func NewClock(start time.Time, speed float64) *Clock {
	return &Clock{start: start.Round(0), origin: time.Now(), speed: speed}
}

// Now returns the warehouse's time.
func (c *Clock) Now() time.Time {
	return c.start.Add(time.Duration(float64(time.Since(c.origin)) * c.speed))
}

// Real returns how long d of the warehouse's time takes on the wall clock.
func (c *Clock) Real(d time.Duration) time.Duration { return time.Duration(float64(d) / c.speed) }

// Span returns how much of the warehouse's time passes in d of the wall clock.
func (c *Clock) Span(d time.Duration) time.Duration { return time.Duration(float64(d) * c.speed) }
