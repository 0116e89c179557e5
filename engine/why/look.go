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
	Skipped   Skip   // Why the source was not asked. Empty means it was asked.
	Failed    string // Why the source did not answer, with the code.
	Rows      int    // The rows of the scope that were read until the row was found, or all where it was not.
	More      bool   // The probe has more than probe.max_rows rows, and the rest was not read.
	Found     bool   // The probe returns the row. Always true for a rule that judges its result as a whole.
	Row       *row.Row
	Seen      bool // Mode event: an earlier run has seen the row, and no run judges it again.
	Match     bool
	Fault     string // Why the condition cannot be judged, or why the notice cannot be written.
	Parts     []Part
	Group     string // The group of the row.
	Type      string // The type of the notice that the row would make.
	Warehouse string
	To        []string // Where that notice would go, such as "sms after 10m unless read".
}

// Skip is the reason why the source was not asked.
type Skip string

// The values of Look.Skipped.
const (
	SkipRule       Skip = "about_rule" // The finding is about the rule, not about a row.
	SkipGroup      Skip = "group"      // The key is the key of a group, and no finding of the group is open.
	SkipUnverified Skip = "unverified" // The rule must not run: its statement costs too much, or the source does not say what the statement costs.
)

// answered tells whether the look shows how the row is, or that the probe does not return it.
func (l *Look) answered() bool {
	return l != nil && l.Skipped == "" && l.Failed == "" && (l.Found || !l.More)
}

// Part is a part of the condition and its outcome.
type Part struct {
	Text    string
	Depth   int // 0 for the whole condition.
	Outcome string
	Fault   string // Why the part cannot be judged.
}

// looker asks the source of a rule beside the rule's own runs, within the same bounds.
type looker struct {
	engine *engine.Engine
	rule   *rules.Rule
	state  ledger.ScopeState
	back   ledger.LookBack
	now    time.Time
	scoped *judge.ScopedRule // Nil until prepare.
}

// prepare verifies the rule as a node does.
func (l *looker) prepare(ctx context.Context) (err error) {
	l.scoped, err = l.engine.Verified(ctx, l.rule)
	return err
}

// columns returns the columns of the probe: as the source has them now, or else as this node last saw them. Nil means
// unknown.
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

// errFound ends a scan that has found its row.
var errFound = errors.New("found")

func (l *looker) scan(ctx context.Context, key string, to *Look) error {
	p := &judge.Pass{ScopedRule: l.scoped, Due: l.now, Started: l.now}
	var all []*row.Row
	seen := l.scoped.Remembers(l.state, l.back)
	result := l.rule.Per == rules.PerResult
	res, err := l.scoped.Prepared.Scan(ctx, scanners.Request{
		Args: p.Args(p.Begin(l.state, nil, l.back)), Timeout: l.rule.Probe.Timeout, MaxRows: l.rule.Probe.MaxRows + l.back.Rows(),
	}, func(r *row.Row) error {
		if !l.scoped.Owns(r) {
			return nil
		}
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

// partsOf joins the parts of a condition with their outcomes.
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
