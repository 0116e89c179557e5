package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"tallyman/engine"
	"tallyman/engine/why"
	"tallyman/internal/api"
	"tallyman/internal/api/metrics"
	"tallyman/internal/api/overview"
	"tallyman/internal/api/stream"
	"tallyman/internal/auth"
	"tallyman/internal/authoring"
	"tallyman/internal/config"
	"tallyman/internal/console"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/commits"
	"tallyman/internal/lineage"
	"tallyman/internal/origin"
	"tallyman/internal/session"
	"tallyman/internal/silence"
	"tallyman/internal/trace"
	"tallyman/internal/trace/otlp"
	"tallyman/sinks"
)

// App is one node. New opens it, Run runs it, and Close releases what New opened.
type App struct {
	cfg       *config.Config
	opts      Options
	log       *slog.Logger
	started   time.Time
	ledger    ledger.Ledger // Reports each commit to commits.
	commits   *commits.Watch
	clock     *sharedClock // Nil in the demo, which has a clock of its own.
	follow    *follower
	session   *session.Keeper
	branch    *lineage.Branch
	restored  atomic.Int64 // When a node noticed that the ledger was restored, in µs since 1970. 0 means never.
	tokens    *tokens
	auth      auth.Authenticator
	endKeys   func() // Stops reading the identity provider's keys. Nil means there are none.
	meter     *metrics.Metrics
	tracer    *trace.Tracer // Nil means no traces.
	exporter  *otlp.Exporter
	index     *indexes
	pushes    pushSinks
	sources   map[string]*sourceEntry
	origin    *origin.Keeper // Nil means no subscriptions come from a source.
	book      *ruleBook
	silences  silence.Set
	engine    *engine.Engine
	api       *api.API
	overview  *overview.Handlers
	listener  net.Listener
	tls       *api.TLS // Nil means plain HTTP.
	authoring *authoring.Node
	wellness  *wellness
	drain     *drain
	pulse     pulse

	ledgerHealth, drainHealth, clockHealth, commitHealth, indexHealth, retentionHealth, rulesHealth, tlsHealth health
}

// New opens every part that the configuration names, and begins to listen. A source or a Redis that is out of reach
// does not make New fail, because such a part may come back. A problem that a person must solve makes New fail, such as
// a bad catalogue or a ledger of another version.
func New(ctx context.Context, cfg *config.Config, opts Options) (_ *App, err error) {
	a := &App{cfg: cfg, opts: opts.withDefaults(cfg), started: time.Now(), drain: newDrain()}
	a.log = a.opts.Logger
	defer func() { //nolint:contextcheck // Close must work when the context is over.
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if err := a.openTraces(ctx); err != nil {
		return nil, err
	}
	if a.meter, err = metrics.New(a.opts.Version, runtime.Version()); err != nil {
		return nil, err
	}
	if err := a.openLedger(ctx); err != nil {
		return nil, err
	}
	if err := a.openClock(ctx); err != nil {
		return nil, err
	}
	a.session = a.newSession()
	if a.branch, err = lineage.Begin(ctx, a.ledger, a.log); err != nil {
		return nil, err
	}
	a.follow = &follower{ledger: a.ledger, incarnation: a.branch.Incarnation, turned: func() { a.pulse.turned("follower") }, log: a.log}
	if err := errors.Join(a.follow.add(ctx, "restored", a.readRestored), a.follow.add(ctx, "schema_oldest", a.readSchema)); err != nil {
		return nil, err
	}
	if err := a.openAuth(ctx); err != nil {
		return nil, err
	}
	if err := a.seed(ctx); err != nil {
		return nil, err
	}
	if err := a.openSilences(ctx); err != nil {
		return nil, err
	}
	if a.index, err = openIndex(cfg, a.shared()); err != nil {
		return nil, err
	}
	if err := a.index.check(ctx, a.log); err != nil {
		return nil, err
	}
	if err := a.follow.add(ctx, "queue_settings", a.readQueueSettings); err != nil {
		return nil, err
	}
	if a.sources, err = openSources(ctx, cfg.Sources); err != nil {
		return nil, err
	}
	if err := a.openOrigin(); err != nil {
		return nil, err
	}
	a.book = &ruleBook{
		config: cfg, ledger: a.ledger, sources: a.sources, node: a.opts.Node, log: a.log, lists: make(chan struct{}, 1), queries: make(chan struct{}, 1),
	}
	if err := a.follow.add(ctx, "scope_lists", a.book.listsChanged); err != nil {
		return nil, err
	}
	if err := a.book.load(ctx); err != nil {
		return nil, err
	}
	meter := a.meter
	meter.CapRules(cfg.Telemetry.Metrics.MaxRules)
	a.book.meter = meter
	if err := meter.Register(metrics.NewQueues(a.index.sizers())); err != nil {
		return nil, err
	}
	if err := a.openPushes(meter); err != nil {
		return nil, err
	}
	if err := meter.Register(metrics.NewPushes(a.pushes.measured())); err != nil {
		return nil, err
	}
	if a.engine, err = a.newEngine(meter); err != nil {
		return nil, err
	}
	a.book.engine = a.engine
	if err := a.follow.add(ctx, "switches", a.engine.ReadSwitches); err != nil {
		return nil, err
	}
	a.openAuthoring()
	if a.api, err = a.newAPI(meter); err != nil { //nolint:contextcheck // the API logs refused requests after they have ended
		return nil, err
	}
	var listen net.ListenConfig
	if a.listener, err = listen.Listen(ctx, "tcp", cfg.HTTP.Listen); err != nil {
		return nil, fmt.Errorf("listen on %s (http.listen): %w", cfg.HTTP.Listen, err)
	}
	return a, nil
}

// Addr returns the address on which the API listens.
func (a *App) Addr() string { return a.listener.Addr().String() }

// Ledger returns the open ledger, for callers that read totals.
func (a *App) Ledger() ledger.Ledger { return a.ledger }

// Run runs the node until ctx ends or a part of it fails for good. At a stop the node drains first. The engine ends
// before the push channels and the API, and the indexes end after these, so that committed notices can still be
// delivered. The session ends last.
func (a *App) Run(ctx context.Context) error {
	set, list, _ := a.book.get()
	a.meter.RulesRead(len(set.Problems))
	a.opts.Manager.Ready()
	a.log.Info("The node is running.", "node", a.opts.Node, "listen", a.Addr(), "rules", len(list), "problems", len(set.Problems))
	working, endWork := context.WithCancel(ctx) // The engine.
	defer endWork()
	// The other parts outlive the engine, because the engine delivers to them until it has stopped. The indexes outlive
	// the API, because workers report to the indexes through the API.
	pushCtx, endPushes := context.WithCancel(context.WithoutCancel(ctx))
	defer endPushes()
	serving, endServing := context.WithCancel(context.WithoutCancel(ctx))
	defer endServing()
	indexCtx, endIndex := context.WithCancel(context.WithoutCancel(ctx))
	defer endIndex()
	sessionCtx, endSession := context.WithCancel(context.WithoutCancel(ctx))
	defer endSession()
	var keeping, background, work, pushing, front sync.WaitGroup
	if err := a.session.Begin(ctx); err != nil {
		a.log.Warn("The node could not take a session in the ledger. The node tries again, and runs nothing before.", "error", err)
	}
	keeping.Go(func() { a.session.Run(sessionCtx, a.engine.TakeOver) })
	pushing.Go(func() { a.pushes.run(pushCtx) })
	background.Go(func() { a.index.inbox.Run(indexCtx) })
	for _, q := range a.index.queues {
		background.Go(func() { q.Run(indexCtx) })
	}

	if a.clock != nil {
		front.Go(func() { a.clock.run(serving) })
	}
	front.Go(func() {
		a.opts.Manager.Watch(ctx, a.pulse.stuck)
		a.opts.Manager.Stopping()
	})
	front.Go(func() { a.branch.Run(serving) })
	front.Go(func() { a.follow.run(serving) })
	front.Go(func() { a.commits.Run(serving) })
	front.Go(func() { a.watchRules(serving) })
	front.Go(func() { a.book.followLists(serving) })
	front.Go(func() { a.keepScopes(serving) })
	front.Go(func() { a.tokens.run(serving) })
	front.Go(func() { a.overview.Sample(serving) })
	if a.origin != nil {
		front.Go(func() { a.origin.Run(serving) })
	}
	failed, fail := context.WithCancelCause(context.WithoutCancel(ctx))
	defer fail(nil)
	work.Go(func() {
		if a.book.start(working) != nil {
			return // The node stops.
		}
		if err := a.engine.Run(working); err != nil && working.Err() == nil {
			fail(err)
		}
	})
	front.Go(func() {
		if err := a.api.Serve(serving, a.listener); err != nil {
			fail(err)
		}
	})

	a.awaitDrain(ctx, failed)
	endWork()
	work.Wait()
	a.pulse.end("engine") // A drained node stays. Its watchdog must not wait for the engine.
	endPushes()
	pushing.Wait()
	a.awaitBalancers(failed)
	a.api.Drain()
	a.drain.finish()
	a.awaitStop(ctx, failed)
	endServing()
	front.Wait()
	endIndex()
	background.Wait()
	endSession() // Last: the end of the session frees every lease that a part has not given back.
	keeping.Wait()
	a.log.Info("The node has stopped.", "node", a.opts.Node)
	return context.Cause(failed)
}

// Close releases connections, files and the port. Close works on a half-opened App, too: New calls it after an error.
func (a *App) Close() error {
	var errs []error
	if a.listener != nil {
		if err := a.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if a.wellness != nil {
		a.wellness.close()
	}
	for name, s := range a.sources {
		if err := s.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close source %s: %w", name, err))
		}
	}
	if a.endKeys != nil {
		a.endKeys()
	}
	if a.tokens != nil {
		a.tokens.memory.Close()
	}
	a.pushes.closeAll()
	if a.index != nil {
		errs = append(errs, a.index.close())
	}
	if a.ledger != nil {
		errs = append(errs, a.ledger.Close())
	}
	if a.exporter != nil {
		errs = append(errs, a.exporter.Close())
	}
	return errors.Join(errs...)
}

func (a *App) newEngine(observer engine.Observer) (*engine.Engine, error) {
	set, list, _ := a.book.get()
	e, err := engine.New(engine.Options{
		Ledger:    a.ledger,
		Sources:   scannerSources(a.sources),
		PerSource: connections(a.cfg.Sources),
		Sinks:     a.sinks(),
		Rules:     list,
		Complete:  set.Complete(),
		Silencer:  &a.silences,
		Node:      a.opts.Node,
		Session:   a.session,
		Clock:     a.opts.Clock,
		Terms:     a.terms(),
		Logger:    a.log,
		Observer:  observer,
		Tracer:    a.tracer,
		Lease:     a.opts.Lease,
		StopGrace: a.opts.StopGrace,
		Retention: a.cfg.Ledger.Retention,
		Step:      a.opts.Step,
		Turned:    func(loop string) { a.pulse.turned("engine " + loop) },
	})
	if err != nil {
		return nil, fmt.Errorf("set up the engine: %w", err)
	}
	return e, nil
}

// ruleDesk is the API's view of the rules: the engine and the explainer.
type ruleDesk struct {
	*engine.Engine
	*why.Explainer
}

func (a *App) newAPI(meter *metrics.Metrics) (*api.API, error) {
	callers, err := a.http()
	if err != nil {
		return nil, err
	}
	a.tls = callers.TLS
	counts := &ruleCounts{read: a.engine.Standing, log: a.log}
	a.wellness = &wellness{look: func(ctx context.Context) []string { return a.unwell(ctx, counts.states(ctx)) }}
	if err := a.measure(meter, counts); err != nil {
		return nil, err
	}
	pages, err := console.New()
	if err != nil {
		return nil, err
	}
	streams := stream.NewHub(stream.Limits{Max: a.cfg.HTTP.MaxStreams, PerToken: a.cfg.HTTP.MaxStreamsPerToken}, meter, a.log)
	return api.New(api.Deps{
		HTTP:      callers,
		Pages:     pages,
		Streams:   streams,
		SinkTypes: sinkTypeNames(sinks.InboxKind, sinks.QueueKind, sinks.PushKind),
		Ready:     a.ready,
		Unwell:    a.wellness.get,
		Auth:      a.auth,
		Gatherer:  meter.Gatherer(),
		Meter:     meter,
		Logger:    a.log,
		Tracer:    a.tracer,
		Version:   a.opts.Version,
	}, a.rooms(meter, streams, counts)...), nil
}
