package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tallyman/engine/judge"
	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// scanGroups are the scopes of rules with split_by that share scans.
type scanGroups struct {
	mu     sync.Mutex
	list   map[string]*scanGroup      // by rules.Rule.ScanGroup
	scopes map[string]map[string]bool // of the rules that the node has, by the rule
}

// of returns the group of that name, which has scopes of the rule; nil where the name is "".
func (g *scanGroups) of(rule, name string) *scanGroup {
	if name == "" {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.list == nil {
		g.list = map[string]*scanGroup{}
	}
	if g.list[name] == nil {
		g.list[name] = &scanGroup{name: name, knows: func(scope string) bool { return g.knows(rule, scope) }, coming: map[firingAt]int{}}
	}
	return g.list[name]
}

// keep forgets the groups that none of the units is in, and learns the scopes of the rules.
func (g *scanGroups) keep(list []*rules.Rule, units map[string]*unit) {
	groups, scopes := map[string]*scanGroup{}, map[string]map[string]bool{}
	for _, r := range list {
		if r.SplitBy == "" || r.Placeholder != "" {
			continue
		}
		if scopes[r.ID] == nil {
			scopes[r.ID] = map[string]bool{}
		}
		scopes[r.ID][r.Scope] = true
	}
	for _, u := range units {
		if u.group != nil {
			groups[u.group.name] = u.group
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.list, g.scopes = groups, scopes
}

func (g *scanGroups) knows(rule, scope string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.scopes[rule][scope]
}

// firingAt is a due time of a group in a clock term, in µs.
type firingAt struct{ term, due int64 }

// scanGroup is the scopes of a rule that one scan serves. Each scope claims its firing for itself, and joins the scan of the firing with what judges its rows. The
// scan begins when every unit that will try the firing on this node has joined it or has turned out to be somewhere else. A firing that is claimed after that joins
// another scan: a scope never judges rows that were read before its claim.
type scanGroup struct {
	name  string
	knows func(scope string) bool // whether the rule has the scope, in whatever group

	mu     sync.Mutex
	coming map[firingAt]int // how many units will try the firing
	open   []*sharedScan    // that have not begun
}

// expect says which firing the unit is about to try; the zero value is none. A scan waits for those that are to come.
func (g *scanGroup) expect(before, next firingAt) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if next != (firingAt{}) {
		g.coming[next]++
	}
	if before == (firingAt{}) {
		return
	}
	if g.coming[before]--; g.coming[before] > 0 {
		return
	}
	delete(g.coming, before)
	for _, s := range slices.Clone(g.open) {
		if s.at == before {
			g.begin(s)
		}
	}
}

// expect tells the scan group which firing the unit is about to try; the zero time is none.
func (u *unit) expect(due time.Time) {
	if u.group == nil {
		return
	}
	next := firingAt{}
	if !due.IsZero() {
		next = firingAt{u.term.Number, due.UnixMicro()}
	}
	if next != u.expected {
		u.group.expect(u.expected, next)
		u.expected = next
	}
}

// sharedScan is one scan of the probe, from the first scope that joins it.
type sharedScan struct {
	at      firingAt
	columns []row.Column
	ctx     context.Context //nolint:containedctx // of the scan, which outlives each of those who wait for it
	cancel  context.CancelFunc
	timer   *time.Timer
	ended   chan struct{} // closed when nobody's visit is called any more

	mu      sync.Mutex
	members map[string]*member // by scope; those who have left are gone
	begun   bool               // the lock is that of the group

	more   bool
	strays int      // rows that name no scope of the rule
	named  []string // what some of them name
	teller *member  // whose run counts the strays
	err    error
}

// member is a scope that waits for its rows.
type member struct {
	scope    string
	unit     *unit
	pass     *judge.Pass
	program  *rules.Program
	prepared scanners.PreparedProbe
	req      scanners.Request
	visit    func(*row.Row) error

	rows int   // that were visited. The scan's until it has ended, as is err.
	err  error // of visit, which is not called any more then
}

// patience is how long a scan waits for those that are to come, after the first has joined: a tenth of the shortest interval, and so long at most.
const patience = 10 * time.Second

// scan joins the scan of the firing and returns when it has ended, or with ctx.
func (g *scanGroup) scan(ctx context.Context, p *pass, req scanners.Request, visit func(*row.Row) error) (judge.SharedResult, error) {
	m := &member{scope: p.rule.Scope, unit: p.unit, pass: p.Pass, program: p.Program, prepared: p.Prepared, req: req, visit: visit}
	s := g.join(ctx, m)
	p.expect(time.Time{}) // the scan does not wait for it any more
	select {
	case <-s.ended:
	case <-ctx.Done():
		g.leave(s, m)
		return judge.SharedResult{}, context.Cause(ctx)
	}
	if s.err != nil {
		return judge.SharedResult{}, s.err
	}
	if m.err != nil {
		return judge.SharedResult{}, m.err
	}
	result := judge.SharedResult{Result: scanners.Result{Rows: m.rows, More: s.more}}
	if m == s.teller {
		result.Strays, result.Named = s.strays, s.named
	}
	return result, nil
}

// join finds a scan that has not begun, of the same firing and the same columns, or makes one.
func (g *scanGroup) join(ctx context.Context, m *member) *sharedScan {
	at, columns := firingAt{m.pass.Term, m.pass.Due.UnixMicro()}, m.prepared.Columns()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.open {
		if s.at == at && slices.EqualFunc(s.columns, columns, alike) && s.members[m.scope] == nil {
			s.members[m.scope] = m
			return s
		}
	}
	s := &sharedScan{at: at, columns: columns, members: map[string]*member{m.scope: m}, ended: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	g.open = append(g.open, s)
	if g.coming[at] == 0 {
		g.begin(s)
		return s
	}
	wait := m.unit.e.opts.Clock.Real(min(patience, m.unit.scoped.Policy.Shortest/10))
	s.timer = time.AfterFunc(wait, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.begin(s)
	})
	return s
}

// alike tells whether a program that was compiled against the one column can read the other.
func alike(a, b row.Column) bool { return a.Name == b.Name && a.Kind == b.Kind }

// begin runs the scan, unless it has begun or everybody has left. The caller holds the lock of the group.
func (g *scanGroup) begin(s *sharedScan) {
	at := slices.Index(g.open, s)
	if at < 0 {
		return
	}
	g.open = slices.Delete(g.open, at, at+1)
	if s.timer != nil {
		s.timer.Stop()
	}
	s.begun = true
	go s.run(g.knows)
}

// leave takes the member out, so that its visit is not called any more. The last one ends the scan.
func (g *scanGroup) leave(s *sharedScan, m *member) {
	left, begun := g.remove(s, m)
	if left > 0 {
		return
	}
	s.cancel()
	if begun {
		<-s.ended
	}
}

func (g *scanGroup) remove(s *sharedScan, m *member) (left int, begun bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.members, m.scope)
	if len(s.members) == 0 && !s.begun {
		g.open = slices.DeleteFunc(g.open, func(other *sharedScan) bool { return other == s })
		s.timer.Stop()
	}
	return len(s.members), s.begun
}

// run asks the source for all who have joined, in the place of the first of them. The scan takes the room of one firing, whoever waits for it.
func (s *sharedScan) run(knows func(scope string) bool) {
	defer close(s.ended)
	defer s.cancel()
	first := s.first()
	if first == nil {
		return
	}
	taken := room{unit: first.unit, asks: true}
	if !taken.enter(s.ctx.Done()) {
		s.err = s.ctx.Err()
		return
	}
	defer taken.leave()
	if s.err = taken.begin(s.ctx); s.err != nil {
		return
	}
	s.err = first.pass.Survive(func() error {
		res, err := first.prepared.Scan(s.ctx, first.req, func(r *row.Row) error {
			s.hand(first, r, knows)
			return nil
		})
		s.more = res.More
		return err
	})
	s.teller = s.first()
}

// first is the member of the first scope in the alphabet that still takes rows; nil = none does.
func (s *sharedScan) first() (first *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for scope, m := range s.members {
		if m.err == nil && (first == nil || scope < first.scope) {
			first = m
		}
	}
	return first
}

// The bounds of what is told of rows that name no scope.
const (
	mostNamed = 3
	longNamed = 40
)

// hand gives the row to the member of its scope. A row of a scope that has not joined is not wanted.
func (s *sharedScan) hand(first *member, r *row.Row, knows func(scope string) bool) {
	scope, isName := first.program.RowScope(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m := s.members[scope]; {
	case isName && m != nil:
		if m.err == nil {
			if m.err = m.visit(r); m.err == nil {
				m.rows++
			}
		}
	case !isName || !knows(scope):
		s.strays++
		named := judge.Cut(fmt.Sprintf("%q", scope), longNamed)
		if len(s.named) < mostNamed && !slices.Contains(s.named, named) {
			s.named = append(s.named, named)
		}
	}
}
