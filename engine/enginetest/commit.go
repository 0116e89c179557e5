package enginetest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"tallyman/engine/judge"
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules/catalog"
)

// Commit stores a run.
func (l *firingStore) Commit(ctx context.Context, c ledger.Claim, record *ledger.Commit) (ledger.CommitResult, error) {
	leave, err := l.enter(ctx, "Commit")
	if err != nil {
		return ledger.CommitResult{}, err
	}
	defer leave()
	if last, ok := l.commits[firingID{c.Rule, c.Scope, c.Term, c.Due, c.Token}]; ok && reflect.DeepEqual(last.record, record) {
		return last.answer, nil
	}
	s, err := l.inForce(c)
	if err != nil {
		return ledger.CommitResult{}, err
	}
	for i := range record.Findings {
		change := &record.Findings[i]
		_, known := s.findings[change.Key]
		if known == (change.Op == ledger.Insert) {
			return ledger.CommitResult{}, fmt.Errorf("finding %s: operation %d, known %v", change.Key, change.Op, known)
		}
	}
	for i := range record.Findings {
		change := &record.Findings[i]
		s.keep(change, c.Due)
		if change.Op == ledger.Delete {
			delete(s.findings, change.Key)
		} else {
			s.findings[change.Key] = change.State
		}
	}
	thawed := s.state.Thawed
	s.state = record.Scope
	s.state.Thawed = thawed
	if record.Watermark != nil {
		s.mark = slices.Clone(record.Watermark)
	}
	s.initial = cmp.Or(record.Initial, s.initial)
	s.memory = s.memory.Apply(record.LookBack)
	s.back = record.Back
	l.dropped = append(l.dropped, record.Silenced)
	var committed ledger.CommitResult
	l.over(record.Over)
	for _, n := range record.Notices {
		l.add(n, &committed)
	}
	switch recorded := l.record(&record.Run); {
	case recorded.Outcome == ledger.OutcomeOK:
		s.unwell = time.Time{}
	case s.unwell.IsZero():
		s.unwell = recorded.Due
	}
	if !record.Again {
		if !s.isDone(s.running.Term, s.running.Due) {
			s.term, s.done = s.running.Term, s.running.Due
		}
		s.running = nil
	}
	kept := *record
	l.commits[firingID{c.Rule, c.Scope, c.Term, c.Due, c.Token}] = lastCommit{&kept, committed}
	return committed, nil
}

// firingID names the firing of a claim.
type firingID struct {
	rule, scope string
	term        int64
	due         time.Time
	token       int64
}

// lastCommit is the last commit of a firing, so that a repeated commit gets the same answer.
type lastCommit struct {
	record *ledger.Commit
	answer ledger.CommitResult
}

// record adds the run, or adds another pass to the run of a firing with several passes.
func (l *firingStore) record(run *ledger.Run) ledger.Run {
	at := slices.IndexFunc(l.runs, func(r ledger.Run) bool {
		return r.Rule == run.Rule && r.Scope == run.Scope && r.Term == run.Term && r.Due.Equal(run.Due)
	})
	if at < 0 {
		l.runs = append(l.runs, *run)
		return *run
	}
	l.runs[at] = judge.AddPass(&l.runs[at], run)
	return l.runs[at]
}

func (l *firingStore) add(n ledger.NewNotice, committed *ledger.CommitResult) {
	if l.notices[n.Notice.ID] != nil {
		return
	}
	l.notices[n.Notice.ID] = n.Notice
	for _, target := range n.Sinks {
		if !target.Each {
			l.deliver(n, target, committed)
			continue
		}
		for _, subscriber := range l.recipients(&target) {
			target.Recipients = []string{subscriber}
			l.deliver(n, target, committed)
		}
	}
}

// deliver adds the delivery of a notice to a target, if the target has a recipient.
func (l *firingStore) deliver(n ledger.NewNotice, target ledger.Target, committed *ledger.CommitResult) {
	d := &deliveryRow{strategy: target.Strategy}
	d.Lane.Sink = target.Sink
	wanted, ended := true, false
	if target.Inbox || target.Strategy != nil {
		d.Recipients = l.recipients(&target)
	}
	if target.Inbox {
		d.Lane.Warehouse = n.Notice.Warehouse
		wanted = len(d.Recipients) > 0
	}
	switch {
	case n.After != "" && target.Strategy != nil:
		wanted = l.tried(n.After, d.Lane)
	case n.After != "":
		d.Recipients, wanted, ended = l.told(n.After, d.Lane)
	}
	if !wanted {
		if target.Inbox && target.Recipients == nil && !ended {
			committed.Unsubscribed++
		}
		return
	}
	d.Seq, d.Notice = int64(len(l.delivery)+1), n.Notice
	l.delivery = append(l.delivery, d)
	committed.Deliveries++
	if !slices.Contains(committed.Lanes, d.Lane) {
		committed.Lanes = append(committed.Lanes, d.Lane)
	}
}

// recipients returns the recipients that the target names, or else the subscribers.
func (l *firingStore) recipients(t *ledger.Target) []string {
	if t.Recipients == nil {
		return l.Subscribers
	}
	return t.Recipients
}

// told returns the recipients of a notice in a lane, and whether the notice went there.
func (l *firingStore) told(id string, lane delivery.Lane) (recipients []string, told, ended bool) {
	for _, d := range l.delivery {
		switch {
		case d.Notice.ID != id || d.Lane != lane:
		case d.State == ledger.DeliveryPending || d.State == ledger.DeliverySent:
			return d.Recipients, true, false
		default:
			ended = true
		}
	}
	return nil, false, ended
}

// Dropped returns how many events silences have dropped, according to each commit.
func (l *firingStore) Dropped() []map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.dropped)
}

// Runs returns all runs, in the order of their commit.
func (l *historyStore) Runs() []ledger.Run {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.runs)
}

// LastRuns returns the latest run of every rule and scope.
func (l *historyStore) LastRuns(ctx context.Context) ([]ledger.Run, error) {
	leave, err := l.enter(ctx, "LastRuns")
	if err != nil {
		return nil, err
	}
	defer leave()
	last := map[scopeID]ledger.Run{}
	byDue := slices.SortedStableFunc(slices.Values(l.runs), func(a, b ledger.Run) int { return cmp.Or(cmp.Compare(a.Term, b.Term), a.Due.Compare(b.Due)) })
	for _, run := range byDue { // By due time, because an older firing may have been repeated after a skip.
		id := scopeID{run.Rule, run.Scope}
		if run.Outcome == ledger.OutcomeSkipped {
			run.Pending, run.Firing = last[id].Pending, last[id].Firing
		}
		last[id] = run
	}
	var list []ledger.Run
	for _, run := range last {
		list = append(list, run)
	}
	return list, nil
}

// Progress returns the last firing of every rule and scope.
func (l *historyStore) Progress(ctx context.Context) ([]ledger.Progress, error) {
	leave, err := l.enter(ctx, "Progress")
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []ledger.Progress
	for id, s := range l.scopes {
		p := ledger.Progress{Rule: id.rule, Scope: id.scope, Term: s.term, Done: s.done, Unwell: s.unwell}
		if s.done.IsZero() {
			p.Done = s.known
		}
		if s.running != nil && l.now().Before(s.running.LeaseUntil) {
			p.RunningTerm, p.Running = s.running.Term, s.running.Due
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b ledger.Progress) int {
		return cmp.Or(strings.Compare(a.Rule, b.Rule), strings.Compare(a.Scope, b.Scope))
	})
	return list, nil
}

// RunSums sums up the runs of every rule and scope.
func (l *historyStore) RunSums(ctx context.Context) ([]ledger.RunSum, error) {
	leave, err := l.enter(ctx, "RunSums")
	if err != nil {
		return nil, err
	}
	defer leave()
	sums := map[scopeID]ledger.RunSum{}
	for _, run := range l.runs {
		sum := sums[scopeID{run.Rule, run.Scope}]
		sums[scopeID{run.Rule, run.Scope}] = ledger.RunSum{
			Rule: run.Rule, Scope: run.Scope, Runs: sum.Runs + 1, Rows: sum.Rows + int64(run.Rows), Errored: sum.Errored + int64(run.Errored),
			Last: sum.Last,
		}
		if run.Outcome != ledger.OutcomeSkipped {
			one := sums[scopeID{run.Rule, run.Scope}]
			one.Last = append(one.Last, ledger.Brief{Took: run.Duration, Outcome: run.Outcome})
			one.Last = one.Last[max(0, len(one.Last)-ledger.LastBriefs):]
			sums[scopeID{run.Rule, run.Scope}] = one
		}
	}
	return slices.Collect(maps.Values(sums)), nil
}

// Types returns the catalogue.
func (l *catalogueStore) Types(ctx context.Context) (catalog.Catalog, error) {
	leave, err := l.enter(ctx, "Types")
	if err != nil {
		return nil, err
	}
	defer leave()
	return maps.Clone(l.types), nil
}

// TypesVersion grows with SetTypes.
func (l *catalogueStore) TypesVersion(ctx context.Context) (int64, error) {
	leave, err := l.enter(ctx, "TypesVersion")
	if err != nil {
		return 0, err
	}
	defer leave()
	return l.version, nil
}

// SetTypes replaces the catalogue.
func (l *catalogueStore) SetTypes(types ...catalog.Type) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.types = catalog.Catalog{}
	for _, t := range types {
		l.types[t.Code] = t
	}
	l.version++
}

// Steal gives the claim in force to another node, even if its lease has not ended.
func (l *firingStore) Steal(rule, name, node string, lease time.Duration) ledger.Claim {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.scopes[scopeID{rule, name}]
	s.token++
	s.running = &ledger.Claim{Rule: rule, Scope: name, Term: s.running.Term, Due: s.running.Due, Node: node, Token: s.token, LeaseUntil: l.now().Add(lease)}
	return *s.running
}

// Prune removes notices that are older than before and have expired, unless a delivery is pending or an open finding
// carries the notice. Prune records before; see Pruned.
func (l *operationStore) Prune(ctx context.Context, before time.Time, _ int) (int64, error) {
	leave, err := l.enter(ctx, "Prune")
	if err != nil {
		return 0, err
	}
	defer leave()
	l.pruned = append(l.pruned, before)
	keep := map[string]bool{}
	for _, d := range l.delivery {
		keep[d.Notice.ID] = keep[d.Notice.ID] || d.State == ledger.DeliveryPending
	}
	for _, s := range l.scopes {
		for _, f := range s.findings {
			keep[f.NoticeID] = true
		}
	}
	all := len(l.notices)
	maps.DeleteFunc(l.notices, func(id string, n *notice.Notice) bool {
		return !keep[id] && n.CreatedAt.Before(before) && !n.ExpiresAt.After(l.now())
	})
	return int64(all - len(l.notices)), nil
}

// Pruned returns the times that Prune was called with.
func (l *operationStore) Pruned() []time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.pruned)
}

// Known returns the argument of the last call of Removed. Known is nil before the first.
func (l *firingStore) Known() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known
}
