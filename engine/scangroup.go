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

// scanGroups holds the scan groups of a node: scopes of rules with split_by that share scans.
type scanGroups struct {
	mu     sync.Mutex
	list   map[string]*scanGroup      // Keyed by rules.Rule.ScanGroup.
	scopes map[string]map[string]bool // The scopes of each rule that the node has, keyed by rule.
}

// of returns the rule's scan group of that name, and makes the group where there is none. of returns nil for the name
// "".
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

// keep drops the groups without a unit, and takes over the scopes of the rules.
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

// firingAt names a firing of a group: its clock term, and its due time in µs since 1970.
type firingAt struct{ term, due int64 }

// scanGroup is the scopes of a rule that one scan serves. Each scope claims its own firing. Then it joins the group's
// scan of that firing and judges its own rows. The scan begins when each unit that has announced the firing on this
// node has joined or has withdrawn. A unit withdraws when another node runs its firing, for example. The scan waits no
// longer than patience. A scope that claims its firing later joins another scan: a scope never judges rows that were
// read before its claim.
type scanGroup struct {
	name  string
	knows func(scope string) bool // Tells whether the rule has the scope, in this group or another.

	mu     sync.Mutex
	coming map[firingAt]int // The units that have announced the firing and not joined its scan yet.
	open   []*sharedScan    // The scans that have not begun.
}

// expect announces that a unit is about to try the firing `next`. expect also withdraws the announcement of the firing
// `before`. The zero value stands for no firing. A scan waits for the announced units. It begins when the last of them
// has joined or has withdrawn, or after patience.
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

// expect announces to the scan group which firing the unit is about to try. The zero time withdraws the announcement.
// It does nothing for a unit without a group.
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

// sharedScan is one scan of the probe. sharedScan exists from the moment the first scope joins.
type sharedScan struct {
	at      firingAt
	columns []row.Column
	ctx     context.Context //nolint:containedctx // The context of the scan, which may outlive any single member.
	cancel  context.CancelFunc
	timer   *time.Timer
	ended   chan struct{} // Closed when no member's visit is called any more.

	mu      sync.Mutex
	members map[string]*member // Keyed by scope. A member that leaves is removed.
	begun   bool               // The group's lock guards begun, not mu.

	// The fields below belong to the scan until ended is closed. Then members only read them.
	more   bool     // The probe has more rows than the scan has read.
	strays int      // The number of rows that name no scope of the rule.
	named  []string // Some of the names in those rows.
	teller *member  // The member whose run reports the strays, so that they are counted once.
	err    error
}

// member is a scope that waits for its rows in a shared scan.
type member struct {
	scope    string
	unit     *unit
	pass     *judge.Pass
	program  *rules.Program
	prepared scanners.PreparedProbe
	req      scanners.Request
	visit    func(*row.Row) error

	// Until the scan has ended, only the scan touches rows and err.
	rows int   // The number of rows that visit has taken.
	err  error // The error of visit. After an error the scan calls visit no more.
}

// patience bounds how long a scan waits for the announced units after its first member has joined. The wait is a tenth
// of the schedule's shortest interval, and never longer than patience.
const patience = 10 * time.Second

// scan joins a scan of the firing and returns when that scan or ctx has ended. After scan returns, visit is not called
// any more.
func (g *scanGroup) scan(ctx context.Context, p *pass, req scanners.Request, visit func(*row.Row) error) (judge.SharedResult, error) {
	m := &member{scope: p.rule.Scope, unit: p.unit, pass: p.Pass, program: p.Program, prepared: p.Prepared, req: req, visit: visit}
	s := g.join(ctx, m)
	p.expect(time.Time{}) // The unit has joined, so the scan must not wait for it any more.
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

// join adds the member to a scan of the same firing and columns that has not begun. Where there is none, join makes
// one.
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

// alike tells whether a program that was compiled for column a can read column b.
func alike(a, b row.Column) bool { return a.Name == b.Name && a.Kind == b.Kind }

// begin starts the scan, unless the scan has begun or all members have left. The caller holds the group's lock.
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

// leave removes the member, so that its visit is not called any more. When the last member leaves, the scan is
// cancelled.
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

// run asks the source once for all members, with the request of the first member. The scan takes up the room of one
// firing, however many members it has.
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

// first returns the member that still takes rows and whose scope comes first in the alphabet. Nil means no member takes
// rows any more.
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

// The bounds of a report about rows that name no scope.
const (
	mostNamed = 3  // Names in the report.
	longNamed = 40 // Characters of a name.
)

// hand gives the row to the member of the row's scope. hand drops a row whose scope is known but has not joined.
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
