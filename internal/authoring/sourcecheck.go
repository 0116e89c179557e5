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
	lints   problem.List   // what the source shows to be sound and hardly meant so
	reason  string         // why columns are not known
}

// checkLive holds the rules against their sources, all sources beside each other, and tries the first runs of rules that the ledger does not know.
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
	_ = g.Wait() // no error: what was found is in the lists
	return all
}

// sourceFindings are what sources say about rules.
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
	first  *firstRuns // nil = first runs are not tried

	mu sync.Mutex // for what follows
	sourceFindings
	lost     error // the source is out of reach
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

// lintSQL asks the source for the types of columns that the SQL compares with literals. What a source does not tell is not warned of.
func lintSQL(ctx context.Context, source scanners.Source, r *rules.Rule) problem.List {
	return rules.LintSQL(r, func(questions []string) *row.Column {
		col, err := scanners.AskColumn(ctx, source, questions)
		if err != nil {
			return nil
		}
		return col
	})
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

// sqlProblem makes a problem of what a source says about a probe. It stands where the source points at, or else at the
// word that it quotes.
func sqlProblem(r *rules.Rule, refused *scanners.Error) problem.Problem {
	message := refused.Err.Error()
	offset := refused.At - 1
	if refused.At == 0 {
		offset = wordIn(r.Probe.SQL, message)
	}
	message = probeLine.ReplaceAllString(message, "") // the place says it
	return r.ProblemIn("probe.sql", offset, string(refused.Code), message, refused.Hint)
}

var probeLine = regexp.MustCompile(` \(line \d+ of the probe\)`)

// quoted finds what databases quote in their messages: near "FORM", column 'qtty', no such table: bin_stok.
var quoted = regexp.MustCompile(`["'` + "`" + `](.+?)["'` + "`" + `]|: ([\w.]+)|:(\w+)`)

// wordIn returns where the SQL has a word that the message quotes, in characters; 0 where it has none.
func wordIn(sql, message string) int {
	tokens, _ := probe.Lex(sql) // it has parsed before
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

// Verify holds rules against their source, so many at a time, and returns why those would not run. What a source that is busy or out of
// reach leaves unsaid is no problem.
func Verify(ctx context.Context, source scanners.Source, types catalog.Catalog, list []*rules.Rule) problem.List {
	check := &sourceCheck{types: types}
	for _, r := range list {
		check.name = r.Source
		check.checks = append(check.checks, &ruleCheck{rule: r})
	}
	check.each(ctx, source, 1)
	return check.problems
}

// Causes are why a rule is not verified, each in its place. Of a source that is out of reach they do not say where it is. An error that is neither of
// the source nor of the rule gets the code.
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

// coded is an error of a probe that costs too much.
var coded = regexp.MustCompile(`^[a-z_]+: `)
