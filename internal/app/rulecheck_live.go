package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tallyman/engine/trial"
	"tallyman/internal/config"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/problem"
	"tallyman/rules/row"
	"tallyman/scanners"
)

const (
	checkedSources = 4                // that are asked at a time
	checkedProbes  = 4                // of one source at a time, or fewer where max_connections says so
	reachTimeout   = 10 * time.Second // for the first answer of a source
	mostTimeouts   = 3                // probes that are not answered in time; then the source is as good as out of reach
)

// ruleCheck is what the source of one rule has said of it.
type ruleCheck struct {
	rule    *rules.Rule
	refused bool           // it would not run
	columns []row.Column   // nil while they are not known
	program *rules.Program // nil where the rule does not fit the columns
	plan    *scanners.Plan // nil where the source knows none
	reason  string         // why columns are not known
}

// checkLive holds the rules against their sources, all sources beside each other.
func checkLive(ctx context.Context, cfg *config.Config, types catalog.Catalog, checks []*ruleCheck) (problems, warnings problem.List) {
	bySource := map[string][]*ruleCheck{}
	for _, c := range checks {
		bySource[c.rule.Source] = append(bySource[c.rule.Source], c)
	}
	var g errgroup.Group
	g.SetLimit(checkedSources)
	var mu sync.Mutex
	for name, list := range bySource {
		g.Go(func() error {
			s := &sourceCheck{name: name, types: types, checks: list}
			s.run(ctx, cfg)
			mu.Lock()
			defer mu.Unlock()
			problems, warnings = append(problems, s.problems...), append(warnings, s.warnings...)
			return nil
		})
	}
	_ = g.Wait() // no error: what was found is in the lists
	return problems, warnings
}

// sourceCheck is the check of the rules of one source.
type sourceCheck struct {
	name   string
	types  catalog.Catalog
	checks []*ruleCheck

	mu                 sync.Mutex // for what follows
	problems, warnings problem.List
	lost               error // the source is out of reach
	timeouts           int
}

func (s *sourceCheck) run(ctx context.Context, cfg *config.Config) {
	if err := cfg.Need("sources", s.name); err != nil {
		s.problems, _ = errors.AsType[problem.List](err)
		s.leave("the source's address is not known")
		return
	}
	configured := cfg.Sources[s.name]
	source, err := openSource(ctx, s.name, configured)
	if err == nil {
		defer func() { _ = source.Close() }()
		reach, done := context.WithTimeout(ctx, reachTimeout)
		defer done()
		err = source.Ping(reach)
	}
	if err != nil {
		s.lost = err
	}
	s.each(ctx, source, max(1, min(configured.MaxConnections, checkedProbes)))
}

// each checks the rules, so many at a time, until one has shown that the source is out of reach.
func (s *sourceCheck) each(ctx context.Context, source scanners.Source, workers int) {
	var g errgroup.Group
	g.SetLimit(workers)
	for _, c := range s.checks {
		g.Go(func() error {
			if !s.isLost() && ctx.Err() == nil {
				s.check(ctx, c, source)
			}
			return nil
		})
	}
	_ = g.Wait() // no error, as above
	if s.lost != nil {
		s.tellLost()
	}
}

func (s *sourceCheck) isLost() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost != nil
}

// check prepares one probe, compiles its rule and asks what the probe costs.
func (s *sourceCheck) check(ctx context.Context, c *ruleCheck, source scanners.Source) {
	try, err := trial.New(c.rule, source, s.types, trial.Start{})
	if err == nil {
		err = try.Verify(ctx)
	}
	if err == nil {
		c.columns, c.program = try.Columns(), try.Program()
		c.plan, err = try.Cost(ctx, time.Now())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(c, err)
}

// note sorts what a check has come to.
func (s *sourceCheck) note(c *ruleCheck, err error) {
	var list problem.List
	var scan *scanners.Error
	switch {
	case err == nil:
	case errors.As(err, &list):
		c.refused, c.reason = true, "the rule does not fit what its probe returns"
		s.problems = append(s.problems, list...)
	case !errors.As(err, &scan):
		c.refused, c.reason = true, err.Error()
		code, message, _ := strings.Cut(err.Error(), ": ")
		message, hint, _ := strings.Cut(message, ": ")
		s.problems = append(s.problems, c.rule.Problem("probe.max_cost", code, message, hint))
	case !scan.Transient:
		c.refused, c.reason = true, "the source refuses the probe"
		s.problems = append(s.problems, sqlProblem(c.rule, scan))
	case scan.Code == scanners.CodeUnreachable:
		s.lost = err
	default:
		c.reason = err.Error()
		s.warnings = append(s.warnings, sqlProblem(c.rule, scan))
		if scan.Code == scanners.CodeTimeout {
			s.timeouts++
		}
		if s.timeouts == mostTimeouts {
			s.lost = err
		}
	}
}

// tellLost warns once of a source that is out of reach, at the first rule that it leaves unchecked.
func (s *sourceCheck) tellLost() {
	var first *rules.Rule
	n := s.leave("the source is out of reach")
	for _, c := range s.checks {
		if c.columns == nil && !c.refused {
			first = c.rule
			break
		}
	}
	if first == nil {
		return
	}
	cause, hint := s.lost.Error(), ""
	if scan, ok := errors.AsType[*scanners.Error](s.lost); ok {
		cause, hint = scan.Err.Error(), scan.Hint
	}
	p := first.Problem("source", string(scanners.CodeUnreachable),
		fmt.Sprintf("the source %s is out of reach, so %s on it: %s", s.name, notChecked(n), cause), hint)
	p.Rule = ""
	s.warnings = append(s.warnings, p)
}

func notChecked(n int) string {
	if n == 1 {
		return "1 rule is not checked"
	}
	return fmt.Sprintf("%d rules are not checked", n)
}

// leave notes why the rules that were not checked were not, and counts them.
func (s *sourceCheck) leave(reason string) int {
	n := 0
	for _, c := range s.checks {
		if c.columns == nil && !c.refused && c.reason == "" {
			c.reason = reason
			n++
		}
	}
	return n
}
