package judge

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// BeginOpen is Begin for a rule that judges each row by itself (JudgesRows). open is the node's outline of the open
// findings; the run does not change it.
func (p *Pass) BeginOpen(state ledger.ScopeState, open *finding.Open) *Snapshot {
	known := p.Begin(state, slices.Clone(open.Alerts()), ledger.LookBack{})
	known.open = open
	return known
}

// JudgesRows tells whether the rule makes a finding of each row alone, without looking at other rows.
func (s *ScopedRule) JudgesRows() bool {
	return s.Rule.Mode == rules.ModeState && s.Rule.Per != rules.PerResult && len(s.Rule.GroupBy) == 0
}

// readAtOnce is the largest number of findings in one read from the ledger.
const readAtOnce = 1000

// readOpen reads the findings with these key hashes from the ledger. All of them must be open. An error is also kept in
// known.unread.
func (p *Pass) readOpen(ctx context.Context, known *Snapshot, keys []finding.Hash) (list []finding.State, err error) {
	defer func() { known.unread = err }()
	keys = slices.Clone(keys)
	slices.SortFunc(keys, func(a, b finding.Hash) int { return bytes.Compare(a[:], b[:]) })
	keys = slices.Compact(keys) // Rows may repeat a key.
	list = make([]finding.State, 0, len(keys))
	for some := range slices.Chunk(keys, readAtOnce) {
		states, err := p.Open(ctx, some)
		if err != nil {
			return nil, fmt.Errorf("reading open findings: %w", err)
		}
		if len(states) != len(some) {
			return nil, fmt.Errorf("reading open findings: the ledger has %d of %d that this node remembers", len(states), len(some))
		}
		list = append(list, states...)
	}
	return p.intoTermFindings(list), nil
}

// openJudge is stateJudge for a run that knows only outlines of the open findings. A row that leaves its finding
// unchanged needs no read from the ledger. Any other row waits until its finding has been read. Then stateJudge judges
// the waiting rows, in the order of the scan.
type openJudge struct {
	stateJudge

	read         func([]finding.Hash) ([]finding.State, error)
	waiting      []*row.Row
	unread       []finding.Hash // The findings of the waiting rows that must be read.
	size         int            // The size of the waiting rows in bytes.
	key, watched []byte         // Buffers.
}

// The bounds of the waiting rows. At a bound their findings are read.
const (
	mostWaiting     = 1000
	mostWaitingSize = 8 << 20 // bytes
)

func newOpenJudge(p *Pass, known *Snapshot, read func([]finding.Hash) ([]finding.State, error)) *openJudge {
	j := &openJudge{stateJudge: stateJudge{newFindingJudge(p, known)}, read: read}
	j.step = finding.BeginOpen(known.Scope, known.open, p.Policy, p.Began, p.Due)
	return j
}

func (j *openJudge) visit(r *row.Row) error {
	matches, err := j.program.Match(r)
	if err == nil && !matches {
		return nil
	}
	priority := 0
	if err == nil {
		priority, err = j.program.Priority(r)
	}
	j.key = j.program.AppendKey(j.key[:0], r)
	hash := finding.HashOf(j.key)
	if err == nil && len(j.key) <= longestKey {
		j.watched = j.program.AppendWatched(j.watched[:0], r)
		if j.step.GoesOn(hash, priority, j.watched) {
			j.result.run.Matched++
			return j.budget.Spend(len(j.key))
		}
	}
	if isErrored := err != nil || len(j.key) > longestKey; j.step.PutOff(hash) && !isErrored {
		j.unread = append(j.unread, hash)
	}
	j.waiting = append(j.waiting, r.Clone())
	if j.size += r.Size(); len(j.waiting) >= mostWaiting || j.size >= mostWaitingSize {
		return j.judgeWaiting()
	}
	return nil
}

func (j *openJudge) judgeWaiting() error {
	if err := j.learn(j.unread); err != nil {
		return err
	}
	for _, r := range j.waiting {
		if err := j.stateJudge.visit(r); err != nil {
			return err
		}
	}
	clear(j.waiting)
	j.waiting, j.unread, j.size = j.waiting[:0], j.unread[:0], 0
	return nil
}

func (j *openJudge) learn(keys []finding.Hash) error {
	states, err := j.read(keys)
	if err == nil {
		j.step.Learn(states)
	}
	return err
}

func (j *openJudge) finish(res scanners.Result) (*Result, error) {
	if res.More {
		return nil, tooManyRows(j.maxRows)
	}
	if err := j.judgeWaiting(); err != nil {
		return nil, err
	}
	if err := j.learn(j.step.Missing(res.Rows == 0)); err != nil {
		return nil, err
	}
	return j.stateJudge.finish(res)
}
