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

// ErrNoWatermark says that the rule has none that could be moved.
var ErrNoWatermark = errors.New("the rule has no watermark")

// Request is a rule whose watermark is to be moved, and what the rule meets on the site.
type Request struct {
	Rule     *rules.Rule
	Source   scanners.Source
	Types    catalog.Catalog
	Ledger   trial.Ledger
	Silencer judge.Silencer // nil = nothing is silenced
	Term     ledger.Term
	To       []string // see rules.Program.Position
	Now      time.Time
}

// Move is a watermark that can be moved.
type Move struct {
	Before []row.Value // nil = the rule has none yet
	After  []row.Value
	Counts Counts // after Count

	req   *Request
	trial *trial.Trial
}

// Counts are what the next firing would come to after the move.
type Counts struct {
	Rows     int    // that it would judge
	Matched  int    // rows that meet the condition
	Told     int    // of those, rows that were told before and would not be told again
	Silenced int    // of those, rows that a silence would drop
	Notices  int    // that would follow
	More     bool   // there are more rows: the counts are of the first ones
	Error    string // why the firing would fail; "" = it would not
}

// Open verifies the rule on its source and makes a position of the texts. Errors are ErrNoWatermark,
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
	if m.After, err = m.trial.Program().Position(req.To, m.Before, req.Now); err != nil {
		return nil, err
	}
	m.trial.Rewind(m.After)
	return m, nil
}

// mostCounted is after how many rows no further pass is counted.
const mostCounted = 100_000

// Count runs the next firing as it would be now, and counts what follows. It ends after a pass that has made up
// mostCounted rows.
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

// askedAtOnce is how many notices are looked up together.
const askedAtOnce = 1000

// told is how many of the notices the ledger has already: a commit leaves these alone.
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
