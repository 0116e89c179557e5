package authoring

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"tallyman/engine/trial"
	"tallyman/internal/config"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/probe"
	"tallyman/rules/problem"
	"tallyman/rules/row"
	"tallyman/scanners"
)

const (
	checkedSources = 4                // How many sources are asked at a time.
	checkedProbes  = 4                // How many probes of one source are checked at a time, or max_connections if less.
	reachTimeout   = 10 * time.Second // How long a source may take for its first answer.
	mostTimeouts   = 3                // After this many timeouts of probes, the source counts as out of reach.
)

// ruleCheck is the result of checking one rule on its source.
type ruleCheck struct {
	rule    *rules.Rule
	refused bool           // The rule would not run.
	columns []row.Column   // nil where the columns are not known.
	program *rules.Program // nil where the rule does not fit the columns.
	plan    *scanners.Plan // nil where the source has no plan.
	lints   problem.List   // Warnings about the rule that need the source.
	reason  string         // Why the columns are not known.
}

// checkLive checks the rules on their sources, several sources at a time. It tries the first runs of rules that the
// ledger does not know.
func (c Commands) checkLive(ctx context.Context, cfg *config.Config, types catalog.Catalog, checks []*ruleCheck) (all sourceFindings) {
	first := &firstRuns{}
	if known, err := c.recall(ctx, cfg); err == nil && known.ledger != nil {
		defer func() { _ = known.ledger.Close() }()
		first.ledger = known.ledger
	}
	bySource := map[string][]*ruleCheck{}
	for _, check := range checks {
		check.lints = initialLint(ctx, first.ledger, check.rule)
		bySource[check.rule.Source] = append(bySource[check.rule.Source], check)
	}
	var g errgroup.Group
	g.SetLimit(checkedSources)
	var mu sync.Mutex
	for name, list := range bySource {
		g.Go(func() error {
			s := &sourceCheck{name: name, types: types, checks: list, first: first}
			s.run(ctx, cfg, c.OpenSource)
			mu.Lock()
			defer mu.Unlock()
			all.add(&s.sourceFindings)
			return nil
		})
	}
	_ = g.Wait() // never an error, because the results are in the lists
	return all
}

// sourceFindings are the results of checking rules on sources.
type sourceFindings struct{ problems, warnings, lints, notes problem.List }

func (f *sourceFindings) add(more *sourceFindings) {
	f.problems, f.warnings = append(f.problems, more.problems...), append(f.warnings, more.warnings...)
	f.lints, f.notes = append(f.lints, more.lints...), append(f.notes, more.notes...)
}

// sourceCheck is the check of the rules of one source.
type sourceCheck struct {
	name   string
	types  catalog.Catalog
	checks []*ruleCheck
	first  *firstRuns // nil means that first runs are not tried.

	mu sync.Mutex // Guards the fields below.
	sourceFindings
	lost     error // Why the source is out of reach. nil while it is in reach.
	timeouts int
}

func (s *sourceCheck) run(ctx context.Context, cfg *config.Config, open func(context.Context, string, config.Source) (scanners.Source, error)) {
	if err := cfg.Need("sources", s.name); err != nil {
		s.problems, _ = errors.AsType[problem.List](err)
		s.leave("the source's address is not known")
		return
	}
	configured := cfg.Sources[s.name]
	source, err := open(ctx, s.name, configured)
	if err == nil {
		defer func() { _ = source.Close() }()
		reach, done := context.WithTimeout(ctx, reachTimeout)
		defer done()
		err = source.Ping(reach)
	}
	if err != nil {
		s.lost = err
	} else {
		s.checkTime(ctx, source, configured.Timezone.Location)
		s.checkTransactions(ctx, source)
	}
	s.each(ctx, source, max(1, min(configured.MaxConnections, checkedProbes)))
}

// each checks the rules, at most workers at a time. It stops when a check shows that the source is out of reach.
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
	_ = g.Wait() // never an error
	if s.lost != nil {
		s.tellLost()
	}
}

func (s *sourceCheck) isLost() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost != nil
}

// check prepares the probe of one rule, compiles the rule, and asks for the cost of the probe.
func (s *sourceCheck) check(ctx context.Context, c *ruleCheck, source scanners.Source) {
	try, err := trial.New(c.rule, source, s.types, trial.Start{})
	if err == nil {
		err = try.Verify(ctx)
	}
	if err == nil {
		c.columns, c.program = try.Columns(), try.Program()
		c.plan, err = try.Cost(ctx, time.Now())
	}
	if c.program != nil {
		c.lints = append(c.lints, lintSQL(ctx, source, c.rule)...)
		if s.first != nil && err == nil {
			c.lints = append(c.lints, s.first.check(ctx, c.rule, try)...)
		}
	}
	suggest(ctx, source, c.rule.Probe.SQL, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(c, err)
}

// lintSQL warns of comparisons between columns and literals in the SQL. It asks the source for the types of the
// columns. A column whose type the source does not tell gets no warning.
func lintSQL(ctx context.Context, source scanners.Source, r *rules.Rule) problem.List {
	return rules.LintSQL(r, func(questions []string) *row.Column {
		col, err := scanners.AskColumn(ctx, source, questions)
		if err != nil {
			return nil
		}
		return col
	})
}

// note records the result of a check: as a problem, as a warning, or as a source that is out of reach. The caller holds
// s.mu, unless no other goroutine uses the sourceCheck.
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

// tellLost adds one warning about a source that is out of reach. Its place is the first rule whose columns are not
// known and that the source has not refused.
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

// leave records the reason for each rule that was not checked, and counts these rules.
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

// sqlProblem makes a problem from a source's error about a probe. The problem's place is the place that the source
// names, or else the first word of the SQL that the error quotes.
func sqlProblem(r *rules.Rule, refused *scanners.Error) problem.Problem {
	message := refused.Err.Error()
	offset := refused.At - 1
	if refused.At == 0 {
		offset = wordIn(r.Probe.SQL, message)
	}
	message = probeLine.ReplaceAllString(message, "") // the problem has the line as its place
	return r.ProblemIn("probe.sql", offset, string(refused.Code), message, refused.Hint)
}

var probeLine = regexp.MustCompile(` \(line \d+ of the probe\)`)

// quoted finds the words that databases quote in messages: near "FORM", column 'qtty', no such table: bin_stok.
var quoted = regexp.MustCompile(`["'` + "`" + `](.+?)["'` + "`" + `]|: ([\w.]+)|:(\w+)`)

// wordIn returns the place of a word in the SQL that the message quotes, in characters. It returns 0 where there is
// none.
func wordIn(sql, message string) int {
	tokens, _ := probe.Lex(sql) // no faults, because the SQL has parsed before
	for _, m := range quoted.FindAllStringSubmatch(message, -1) {
		for _, group := range m[1:] {
			for _, name := range slices.Backward(strings.Split(group, ".")) {
				if at := find(tokens, name); at >= 0 {
					return utf8.RuneCountInString(sql[:at])
				}
			}
		}
	}
	return 0
}

// find returns the offset of the first token that spells the name, or -1.
func find(tokens []probe.Token, name string) int {
	for _, t := range tokens {
		if strings.EqualFold(strings.Trim(t.Text, "\"`[]:"), name) {
			return t.Start
		}
	}
	return -1
}

// Verify checks rules on their source, and returns the problems of rules that would not run. A source that is busy or
// out of reach is not a problem of its rules.
func Verify(ctx context.Context, source scanners.Source, types catalog.Catalog, list []*rules.Rule) problem.List {
	check := &sourceCheck{types: types}
	for _, r := range list {
		check.name = r.Source
		check.checks = append(check.checks, &ruleCheck{rule: r})
	}
	check.each(ctx, source, 1)
	return check.problems
}

// Causes returns why a rule is not verified, as problems with places. For a source that is out of reach, the problem
// does not show the address of the source. If the error comes neither from the source nor from the rule, the problem
// has the given code.
func Causes(r *rules.Rule, err error, code string) problem.List {
	var list problem.List
	var scan *scanners.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &scan) && scan.Code == scanners.CodeUnreachable:
		return problem.List{r.Problem("source", string(scan.Code), "the source "+r.Source+" is out of reach", "")}
	case errors.As(err, &scan), errors.As(err, &list), coded.MatchString(err.Error()):
		var check sourceCheck
		check.note(&ruleCheck{rule: r}, err)
		return slices.Concat(check.problems, check.warnings)
	}
	return problem.List{r.Problem("source", code, err.Error(), "")}
}

// coded matches an error that begins with a code, such as the error of a probe that costs too much.
var coded = regexp.MustCompile(`^[a-z_]+: `)
