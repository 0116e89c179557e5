package why

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tallyman/engine"
	"tallyman/engine/judge"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/condition"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// Look is how the row of a key is on the source right now.
type Look struct {
	Skipped   Skip   // why the source was not asked; "" = it was
	Failed    string // why it did not answer, with the code
	Rows      int    // that were read until the row was found; all of them where it was not
	More      bool   // there are more than probe.max_rows, and those were not read
	Found     bool   // the probe returns the row; a result as a whole always is
	Row       *row.Row
	Seen      bool // mode event: an earlier run has seen the row, and no run judges it again
	Match     bool
	Fault     string // why the condition cannot be judged, or the row not be told
	Parts     []Part
	Group     string // of the row
	Type      string // of the notice that it would make
	Warehouse string
	To        []string // where that notice would go: sms after 10m unless read
}

// Skip is why the source was not asked.
type Skip string

// Why the source is not asked about a key.
const (
	SkipRule       Skip = "about_rule" // The finding is about the rule, not about a row.
	SkipGroup      Skip = "group"      // The key is that of a group, and no finding of the group is open.
	SkipUnverified Skip = "unverified" // The rule may not run: its statement costs too much.
)

// answered tells whether the source says how the row is.
func (l *Look) answered() bool {
	return l != nil && l.Skipped == "" && l.Failed == "" && (l.Found || !l.More)
}

// Part is a part of the condition and what it comes to.
type Part struct {
	Text    string
	Depth   int // 0 for the whole
	Outcome string
	Fault   string // why it cannot be judged
}

// looker asks the source of a rule beside the rule's own runs, within the same bounds.
type looker struct {
	engine *engine.Engine
	rule   *rules.Rule
	state  ledger.ScopeState
	back   ledger.LookBack
	now    time.Time
	scoped *judge.ScopedRule // nil until prepared
}

// prepare verifies the rule as a node does.
func (l *looker) prepare(ctx context.Context) (err error) {
	l.scoped, err = l.engine.Verified(ctx, l.rule)
	return err
}

// columns are those of the probe: as the source has them now, else as this node has seen them last, else unknown.
func (l *looker) columns() []row.Column {
	if l.scoped != nil {
		return l.scoped.Prepared.Columns()
	}
	return l.engine.Columns(l.rule)
}

// look scans for the row with the key, and judges it.
func (l *looker) look(ctx context.Context, key string, to *Look) {
	if key == finding.NoData || key == finding.OnError {
		to.Skipped = SkipRule
		return
	}
	release, err := l.engine.Room(ctx, l.rule.Source)
	if err != nil {
		to.Failed = err.Error()
		return
	}
	defer release()
	l.scoped.Program.SetNow(l.now)
	if err := l.scan(ctx, key, to); err != nil {
		to.Failed = err.Error()
	}
}

// errFound ends a scan.
var errFound = errors.New("found")

func (l *looker) scan(ctx context.Context, key string, to *Look) error {
	p := &judge.Pass{ScopedRule: l.scoped, Due: l.now, Started: l.now}
	var all []*row.Row
	seen := l.scoped.Remembers(l.state, l.back)
	result := l.rule.Per == rules.PerResult
	res, err := l.scoped.Prepared.Scan(ctx, scanners.Request{
		Args: p.Args(p.Begin(l.state, nil, l.back)), Timeout: l.rule.Probe.Timeout, MaxRows: l.rule.Probe.MaxRows + l.back.Rows(),
	}, func(r *row.Row) error {
		to.Rows++
		switch {
		case result:
			all = append(all, r.Clone())
		case l.scoped.Program.Key(r) == key:
			to.Found, to.Row, to.Seen = true, r.Clone(), seen != nil && seen(r)
			if !to.Seen {
				return errFound
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFound) {
		return err
	}
	to.More = res.More
	if result {
		to.Found = true
		return l.judgeResult(all, to)
	}
	if to.Found {
		return l.judgeRow(to)
	}
	return nil
}

func (l *looker) judgeRow(to *Look) error {
	program := l.scoped.Program
	parts, err := condition.NewParts(l.rule.When, l.scoped.Prepared.Columns())
	if err != nil {
		return fmt.Errorf("take the condition apart: %w", err)
	}
	parts.SetNow(l.now)
	outcomes, faults := parts.Outcomes(to.Row)
	to.Parts = partsOf(parts.List(), outcomes, faults)
	var fault error
	to.Match, fault = program.Match(to.Row)
	if to.Fault = errorText(fault); !to.Match {
		return nil
	}
	to.Group = program.Group(to.Row)
	draft, err := program.Draft(to.Row)
	to.drafted(l.rule, draft, err)
	return nil
}

func (l *looker) judgeResult(all []*row.Row, to *Look) error {
	program := l.scoped.Program
	parts, err := condition.NewResultParts(l.rule.When, l.scoped.Prepared.Columns())
	if err != nil {
		return fmt.Errorf("take the condition apart: %w", err)
	}
	parts.SetNow(l.now)
	outcomes, faults := parts.ResultOutcomes(all)
	to.Parts = partsOf(parts.List(), outcomes, faults)
	var fault error
	to.Match, fault = program.MatchResult(all)
	if to.Fault = errorText(fault); to.Match {
		draft, err := program.DraftResult(all)
		to.drafted(l.rule, draft, err)
	}
	return nil
}

func (l *Look) drafted(r *rules.Rule, d *rules.NoticeDraft, err error) {
	if err != nil {
		l.Fault = err.Error()
		return
	}
	l.Type, l.Warehouse, l.To = d.Type.Code, d.Warehouse, goesTo(r, d)
}

// partsOf joins the parts of a condition with what they come to.
func partsOf(list []condition.Part, outcomes []condition.Outcome, faults []error) []Part {
	out := make([]Part, len(list))
	for i, p := range list {
		out[i] = Part{Text: p.Text, Depth: p.Depth, Outcome: outcomes[i].String(), Fault: errorText(faults[i])}
	}
	return out
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
