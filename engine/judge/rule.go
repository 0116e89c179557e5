package judge

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/finding"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
	"tallyman/rules/probe"
	"tallyman/rules/problem"
	"tallyman/rules/schedule"
	"tallyman/scanners"
)

// ScopedRule is a rule in one scope with everything that judging its rows needs. ScopedRule is not safe for concurrent
// use: each unit of the engine, each trial and each explanation has its own.
type ScopedRule struct {
	Rule      *rules.Rule // With the defaults of its notice type, once the rule was compiled.
	Statement *probe.Statement
	Schedule  *schedule.Schedule
	Policy    finding.Policy
	Address   Address
	// The prepared probe. Nil until Prepare, and after the source has refused the statement.
	Prepared scanners.PreparedProbe
	// Program is the rule compiled against the columns of the probe. The kin shares it, except between BorrowProgram
	// and ReturnProgram. Nil as long as Prepared is not compiled.
	Program *rules.Program

	channels map[string]Channel
	written  *rules.Rule // The rule as its file has it.
	types    int64       // The version of the types that Program was compiled with.
	kin      *Kin        // Nil means no other scope shares anything with the rule.
	// The prepared probe that Forget dropped. The kin must prepare a new one.
	refused scanners.PreparedProbe
	shared  *rules.Program // The kin's program, while Program is borrowed.
}

// NewScopedRule parses schedule and probe, and addresses the rule to the channels, which are keyed by sink. kin may be
// nil. The rule is not verified yet: call Prepare and Compile first.
func NewScopedRule(r *rules.Rule, channels map[string]Channel, kin *Kin) (*ScopedRule, error) {
	read := parse
	if kin != nil {
		read = kin.parse
	}
	sched, stmt, address, err := read(r, channels)
	if err != nil {
		return nil, err
	}
	return &ScopedRule{
		Rule: addressed(r, channels), Statement: stmt, Schedule: sched, channels: channels, written: r, kin: kin,
		Address: address,
		Policy: finding.Policy{
			For: r.For, KeepFiringFor: r.KeepFiringFor, RepeatInterval: r.RepeatInterval,
			Shortest: sched.Shortest(), KeepLast: r.NoData == rules.PolicyKeepLast || r.NoData == rules.PolicyAlert,
			Baseline: r.FirstRun == rules.FirstRunBaseline,
		},
	}, nil
}

func parse(r *rules.Rule, channels map[string]Channel) (*schedule.Schedule, *probe.Statement, Address, error) {
	sched, err := schedule.Parse(r.Schedule.Cron, r.Schedule.Timezone)
	if err != nil {
		return nil, nil, Address{}, fmt.Errorf("engine: rule %s: %w", r.ID, err)
	}
	stmt, faults := r.Probe.Statement()
	if len(faults) > 0 {
		return nil, nil, Address{}, fmt.Errorf("engine: rule %s: %s: %s", r.ID, faults[0].Code, faults[0].Message)
	}
	return sched, stmt, NewAddress(addressed(r, channels), channels), nil
}

// Prepare calls ask to prepare the probe, unless another rule of the kin has prepared it.
func (s *ScopedRule) Prepare(ctx context.Context, ask func(context.Context) (scanners.PreparedProbe, error)) (err error) {
	if s.kin != nil {
		s.Prepared, err = s.kin.prepare(ctx, s.refused, ask)
	} else {
		s.Prepared, err = ask(ctx)
	}
	return err
}

// BorrowProgram gives the rule a program of its own, because a shared program must not be evaluated concurrently. Call
// ReturnProgram after the run.
func (s *ScopedRule) BorrowProgram() {
	if s.kin != nil && s.Program != nil {
		s.shared, s.Program = s.Program, s.Program.Borrow(s.Rule)
	}
}

// ReturnProgram returns the program of BorrowProgram. Without BorrowProgram it does nothing.
func (s *ScopedRule) ReturnProgram() {
	if s.shared == nil {
		return
	}
	if s.Program != nil {
		s.Program.Return()
		s.Program = s.shared
	}
	s.shared = nil
}

// Compile compiles the rule against the columns of the prepared probe, unless that was done with this version of the
// types. The error is a problem.List. Then the probe must be prepared again, because its columns may be the problem.
func (s *ScopedRule) Compile(types catalog.Catalog, version int64) error {
	if s.Program != nil && s.types == version {
		return nil
	}
	var program *rules.Program
	var whole *rules.Rule
	var address Address
	var problems problem.List
	if s.kin != nil {
		if program, address, problems = s.kin.compile(s.written, s.Prepared, types, version, s.channels); program != nil {
			whole = program.Completed(s.written)
		}
	} else if program, problems = rules.Compile(s.written, s.Prepared.Columns(), types); program != nil {
		whole, address = program.Rule(), NewAddress(program.Rule(), s.channels)
	}
	if len(problems) == 0 {
		problems = s.unknownSinks(whole)
	}
	if len(problems) > 0 {
		s.Forget()
		return problems
	}
	s.Program, s.types = program, version
	s.Rule, s.Address = whole, address
	return nil
}

// addressed returns the rule with the inbox as its sink, if the rule names no sink. So an alert about the rule itself
// has a sink even before the rule's type is known.
func addressed(r *rules.Rule, channels map[string]Channel) *rules.Rule {
	name, ok := Inbox(channels)
	if len(r.Deliver) > 0 || !ok {
		return r
	}
	whole := *r
	whole.Deliver = []deliver.Entry{{Sink: name}}
	return &whole
}

// unknownSinks reports sinks that the rule's type names and this node does not have. The sinks that the rule itself
// names were checked when the rule was loaded.
func (s *ScopedRule) unknownSinks(whole *rules.Rule) problem.List {
	if len(s.written.Deliver) > 0 {
		return nil
	}
	var l problem.List
	for _, d := range whole.Deliver {
		if _, ok := s.channels[d.Sink]; !ok {
			l = append(l, whole.Problem("notice.type", deliver.CodeUnknownSink,
				fmt.Sprintf("the type %s delivers to the sink %q, which is not configured", whole.Notice.Type, d.Sink), problem.Nearest(d.Sink, slices.Sorted(maps.Keys(s.channels)), "sinks")))
		}
	}
	return l
}

// Forget marks the rule as not verified: it must be prepared and compiled again.
func (s *ScopedRule) Forget() { s.refused, s.Prepared, s.Program, s.types = s.Prepared, nil, nil, 0 }

// Outdated tells whether the rule was compiled with another version of the types.
func (s *ScopedRule) Outdated(version int64) bool { return s.Program != nil && s.types != version }

// CostUnknown returns the error of a rule with probe.max_cost on a source that does not explain costs.
func (s *ScopedRule) CostUnknown() error {
	return &Error{"probe_cost_unknown", fmt.Sprintf(
		"the database of source %s does not say what a probe costs: remove probe.max_cost, and bound the probe by timeout and max_rows", s.Rule.Source)}
}

// TooDear returns the error of a plan that costs more than probe.max_cost. Nil means the cost is allowed.
func (s *ScopedRule) TooDear(cost float64, shape string) error {
	if cost <= float64(s.Rule.Probe.MaxCost) {
		return nil
	}
	return &Error{"probe_cost", fmt.Sprintf(
		"the probe's plan costs %s and probe.max_cost is %d (%s): add an index, narrow the probe, or raise the limit",
		Number(cost), s.Rule.Probe.MaxCost, Cut(InLine(shape), LongSample))}
}

// InLine joins the steps of a plan with commas. A plan has one step in each line.
func InLine(shape string) string {
	steps := strings.Split(shape, "\n")
	for i := range steps {
		steps[i] = strings.TrimSpace(steps[i])
	}
	return strings.Join(steps, ", ")
}

// Number formats a cost without an exponent.
func Number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// PrepareTimeout is the time limit for the preparation of a probe and for the question of its cost.
const PrepareTimeout = 30 * time.Second
