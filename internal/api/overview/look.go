package overview

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"tallyman/internal/api/view"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// The least time between the beginnings of two looks, and the time for one look. If the ledger takes long, looks are
// less frequent. The pause after a look is nine times as long as the look, but at most lookRest. So the overview is not
// too old. So a look of up to one second takes at most a tenth of the time, and a longer look at most half of the time.
const (
	lookEvery   = 2 * time.Second
	lookTimeout = 10 * time.Second
	lookRest    = 10 * time.Second
)

// lookout reads the state for all callers, at most every two seconds.
type lookout struct {
	deps *Deps

	mu    sync.Mutex // Held during a look. Other callers wait for the look and share its result.
	last  *outlook
	next  time.Time // The time of the next look.
	count noticeCounts
}

func newLookout(deps *Deps) *lookout {
	return &lookout{deps: deps, last: &outlook{}, count: noticeCounts{
		ledger: deps.Ledger, hours: map[time.Time]tallies{}, minutes: map[time.Time]tallies{},
	}}
}

// look returns the state, which is normally at most two seconds old.
func (l *lookout) look(ctx context.Context) *outlook {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().Before(l.next) {
		return l.last
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTimeout) // Other callers wait for the look, so it outlives its own request.
	defer cancel()
	began := time.Now()
	files := l.deps.RuleFiles()
	o := &outlook{at: l.deps.Rules.Now(), problems: len(files.Problems), faulty: files.Since}
	var took time.Duration
	var noQueues bool
	var parts sync.WaitGroup
	parts.Go(func() {
		l.askLedger(ctx, o)
		took = time.Since(began)
	})
	parts.Go(func() { noQueues = !l.askQueues(ctx, o) })
	parts.Go(func() { o.node = l.deps.Node(ctx) })
	parts.Wait()
	if noQueues {
		o.stale = append(o.stale, "queues")
	}
	slices.Sort(o.stale)
	if len(o.stale) > 0 {
		if o.staleSince = l.last.staleSince; o.staleSince.IsZero() {
			o.staleSince = o.at
		}
	}
	for _, s := range l.deps.Rules.Switches() {
		if s.Rule == ledger.Every {
			o.paused = view.NewSwitchForm(&s)
		}
	}
	l.last, l.next = o, began.Add(max(lookEvery, took+min(9*took, lookRest)))
	return o
}

// askLedger reads the parts that the ledger has. A part that cannot be read keeps its earlier values.
func (l *lookout) askLedger(ctx context.Context, o *outlook) {
	failed := func(part string, err error) bool {
		if err != nil {
			l.deps.Logger.LogAttrs(ctx, slog.LevelWarn, "Overview could not read one of its parts. The part keeps its earlier values.", slog.String("part", part), slog.Any("error", err))
			o.stale = append(o.stale, part)
		}
		return err != nil
	}
	var err error
	if o.rules, err = l.askRules(ctx); failed("rules", err) && l.last.rules != nil {
		o.rules = l.last.rules
	}
	o.notices, err = l.count.count(ctx, o.at)
	failed("notices", err)
	if o.findings, err = l.deps.Ledger.CountFindings(ctx); failed("findings", err) {
		o.findings = l.last.findings
	}
	if o.counts, err = view.CountPending(ctx, l.deps.Ledger, o.at); failed("sinks", err) {
		o.counts = l.last.counts
	}
	for _, name := range slices.Sorted(maps.Keys(l.deps.Sinks)) {
		o.sinks = append(o.sinks, view.NewSinkForm(name, l.deps.Sinks[name], &o.counts))
	}
}

// askRules counts the rules by scope.
func (l *lookout) askRules(ctx context.Context) (map[string]*wire.RuleHealthForm, error) {
	list, err := l.deps.Standing(ctx)
	promoted := map[string]bool{}
	if err == nil {
		var promotions []ledger.Promotion
		promotions, err = l.deps.Ledger.Promotions(ctx)
		for _, p := range promotions {
			promoted[ledger.ScopeKey(p.Rule, p.Scope)] = true
		}
	}
	out := map[string]*wire.RuleHealthForm{}
	for i := range list {
		r := list[i].Rule
		if out[r.Scope] == nil {
			out[r.Scope] = &wire.RuleHealthForm{}
		}
		countRule(out[r.Scope], &list[i], promoted[ledger.ScopeKey(r.ID, r.Scope)])
	}
	return out, err
}

// askQueues reads the depths of the queues, and returns whether all queues have answered. A queue that does not answer
// keeps its earlier values.
func (l *lookout) askQueues(ctx context.Context, o *outlook) bool {
	all := true
	for _, name := range slices.Sorted(maps.Keys(l.deps.Queues)) {
		q := l.deps.Queues[name]
		sizes, err := q.Sizes(ctx, false, nil)
		if err == nil {
			o.queues = append(o.queues, queueLook{name, time.Now(), &sizes, &q})
			continue
		}
		all = false
		if i := slices.IndexFunc(l.last.queues, func(f queueLook) bool { return f.name == name }); i >= 0 {
			o.queues = append(o.queues, l.last.queues[i])
		}
	}
	return all
}
