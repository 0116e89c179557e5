package rewind

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tallyman/engine/judge"
	"tallyman/engine/trial"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// ErrNoWatermark says that the rule has no watermark.
var ErrNoWatermark = errors.New("the rule has no watermark")

// Request is a rule, the new position of its watermark, and what a trial of the rule needs.
type Request struct {
	Rule     *rules.Rule
	Source   scanners.Source
	Types    catalog.Catalog
	Ledger   trial.Ledger
	Silencer judge.Silencer // Nil means nothing is silenced.
	Term     ledger.Term
	To       []string // The new position, see rules.Program.Position.
	Now      time.Time
}

// Move is a watermark that can be moved.
type Move struct {
	Before []row.Value // Nil means the watermark has not begun.
	After  []row.Value
	Counts Counts // Set by Count.

	req   *Request
	trial *trial.Trial
}

// Counts is the result of the next firing after the move.
type Counts struct {
	Rows     int    // Rows that the firing would judge.
	Matched  int    // Rows that meet the condition.
	Told     int    // Matched rows that have a notice already and would get no other one.
	Silenced int    // Matched rows that a silence would drop.
	Notices  int    // Notices that the firing would send.
	More     bool   // The firing has more rows; the counts are of the first ones.
	Error    string // Why the firing would fail. Empty means it would not.
}

// Open verifies the rule on its source and converts To to a position. Errors are ErrNoWatermark,
// *rules.PositionError, problem.List and *scanners.Error where the rule would not run, and the ledger's.
func Open(ctx context.Context, req Request) (*Move, error) {
	w := req.Rule.Probe.Watermark
	if w == nil {
		return nil, ErrNoWatermark
	}
	start, _, err := trial.From(ctx, req.Ledger, req.Rule.ID, req.Rule.Scope)
	if err != nil {
		return nil, fmt.Errorf("read the rule's state from the ledger: %w", err)
	}
	start.Silencer, start.Term = req.Silencer, req.Term
	m := &Move{req: &req, Before: start.State.Watermark}
	if m.trial, err = trial.New(req.Rule, req.Source, req.Types, start); err != nil {
		return nil, err
	}
	if err := m.trial.Verify(ctx); err != nil {
		return nil, err
	}
	if m.After, err = m.trial.Program().Position(req.To, req.Now); err != nil {
		return nil, err
	}
	m.trial.Rewind(m.After)
	return m, nil
}

// mostCounted is the number of rows after which Count begins no further pass.
const mostCounted = 100_000

// Count runs the next firing as if it were due now, and sets Counts. Count ends after the pass that reaches mostCounted
// rows.
func (m *Move) Count(ctx context.Context) error {
	n := &m.Counts
	err := m.trial.Watch(ctx, m.req.Now.UTC().Truncate(time.Microsecond), func(record *ledger.Commit) (bool, error) {
		n.Rows, n.Matched = n.Rows+record.Run.Rows, n.Matched+record.Run.Matched
		for _, dropped := range record.Silenced {
			n.Silenced += dropped
		}
		told, err := m.told(ctx, record.Notices)
		if err != nil {
			return false, err
		}
		n.Told, n.Notices = n.Told+told, n.Notices+len(record.Notices)-told
		if record.Run.Outcome == ledger.OutcomeFailed {
			n.Error = record.Run.Error
		}
		n.More = record.Again && n.Rows >= mostCounted
		return !n.More, nil
	})
	n.Told += m.trial.ToldBefore()
	return err
}

// askedAtOnce is the largest number of notices in one read from the ledger.
const askedAtOnce = 1000

// told returns how many of the notices the ledger has already. A commit does not make these again.
func (m *Move) told(ctx context.Context, made []ledger.NewNotice) (int, error) {
	told := 0
	for len(made) > 0 {
		some := made[:min(askedAtOnce, len(made))]
		made = made[len(some):]
		ids := make([]string, len(some))
		for i := range some {
			ids[i] = some[i].Notice.ID
		}
		known, err := m.req.Ledger.Notices(ctx, ids)
		if err != nil {
			return 0, fmt.Errorf("look up the notices in the ledger: %w", err)
		}
		told += len(known)
	}
	return told, nil
}
