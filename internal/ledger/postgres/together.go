package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/combine"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
)

const (
	togetherFlights = 2
	togetherMost    = 200 // most scopes in one statement
	// The wait pays: per firing, a statement for six firings costs three times as much as a statement for twenty.
	togetherGather  = 20 * time.Millisecond
	togetherTimeout = 20 * time.Second // limit for a statement; all its callers may have given up
)

// together combines calls that come at the same time into one statement: registrations, claims, commits of runs that
// changed nothing, and skips.
func together[T any](call func(ctx context.Context, parts []*combine.Part[T]), alike func(a, b T) bool) *combine.Calls[T] {
	return &combine.Calls[T]{
		Flights: togetherFlights, Gather: togetherGather,
		Fits: func(parts []*combine.Part[T], next T) bool {
			return len(parts) < togetherMost && alike(parts[0].What, next)
		},
		Call: func(ctx context.Context, _ int, parts []*combine.Part[T]) {
			ctx, cancel := context.WithTimeout(ctx, togetherTimeout)
			defer cancel()
			call(ctx, parts)
			for _, p := range parts {
				p.Answer()
			}
		},
	}
}

// registration is a rule and scope to register. state is nil until the statement has returned it.
type registration struct {
	rule, scope string
	term        int64
	now         time.Time
	state       *ledger.ScopeState
}

// registerTogether registers the rules and scopes. registerTogether reports no error: a registration without a state
// then runs alone and gets its own error.
func (l *Ledger) registerTogether(ctx context.Context, parts []*combine.Part[*registration]) {
	rules := column(parts, func(r *registration) string { return r.rule })
	scopes := column(parts, func(r *registration) string { return r.scope })
	var n int
	var row codec.Scope
	states := make([]*ledger.ScopeState, len(parts))
	var b pgx.Batch
	b.Queue(queries.Get("any-length"))
	b.Queue(queries.Get("register-many"), rules, scopes,
		column(parts, func(r *registration) int64 { return r.term }), column(parts, func(r *registration) int64 { return codec.Micros(r.now) }))
	b.Queue(queries.Get("scope-many"), rules, scopes, l.LeaseArg()).Query(func(found pgx.Rows) error {
		_, err := pgx.ForEachRow(found, append([]any{&n}, row.Columns()...), func() error {
			row.Rule, row.Name = rules[n-1], scopes[n-1]
			if state, err := row.State(); err == nil {
				states[n-1] = &state
			}
			return nil
		})
		return err
	})
	if l.pool.SendBatch(ctx, &b).Close() != nil {
		return
	}
	for i, p := range parts {
		p.What.state = states[i]
	}
}

// claimRequest is a claim to make. claim.Token is 0 until the statement has given the firing out.
type claimRequest struct {
	claim ledger.Claim
	lease time.Duration
	done  bool // the firing is done
}

func (r *claimRequest) isLike(other *claimRequest) bool {
	return r.claim.Node == other.claim.Node && r.lease == other.lease
}

// claimTogether makes the claims whose firings are free. claimTogether reports no error: a claim without a token then
// runs alone and gets its own error.
func (l *Ledger) claimTogether(ctx context.Context, parts []*combine.Part[*claimRequest]) {
	first := parts[0].What
	var n int
	var token, until, before int64
	var row codec.Scope
	take := func() error {
		asked := parts[n-1].What
		if asked.done = token == 0; asked.done {
			return nil
		}
		c := &asked.claim
		state, err := row.State()
		if err == nil {
			c.State = &state
		}
		c.Token, c.LeaseUntil, c.Before, c.Due = token, codec.Time(until), before, codec.Time(codec.Micros(c.Due))
		return nil
	}
	_ = l.askMany(ctx, "claim-many", append([]any{&n, &token, &until, &before}, row.Columns()...), take,
		column(parts, func(r *claimRequest) string { return r.claim.Rule }),
		column(parts, func(r *claimRequest) string { return r.claim.Scope }),
		column(parts, func(r *claimRequest) int64 { return r.claim.Term }),
		column(parts, func(r *claimRequest) int64 { return codec.Micros(r.claim.Due) }),
		first.claim.Node, first.lease.Microseconds(), l.LeaseArg())
}

// askMany runs a statement with arrays of any length, in a transaction and a round trip of its own, and visits the
// rows. The statement any-length makes the server plan the statement only once, for arrays of any length.
func (l *Ledger) askMany(ctx context.Context, name string, targets []any, visit func() error, args ...any) error {
	var b pgx.Batch
	b.Queue(queries.Get("any-length"))
	b.Queue(queries.Get(name), args...).Query(func(found pgx.Rows) error {
		_, err := pgx.ForEachRow(found, targets, visit)
		return err
	})
	return l.pool.SendBatch(ctx, &b).Close()
}

// quietRun is a run that changed nothing, to be committed.
type quietRun struct {
	claim        ledger.Claim
	run          *ledger.Commit
	answer, back string
	committed    bool
}

// commitQuiet commits a run that changed nothing, together with others. commitQuiet returns whether the run is
// committed.
func (l *Ledger) commitQuiet(ctx context.Context, c ledger.Claim, run *ledger.Commit, digest string) (bool, error) {
	q := &quietRun{claim: c, run: run}
	var err error
	if q.answer, err = codec.NewAnswer(digest, ledger.CommitResult{}); err != nil {
		return false, err
	}
	if q.back, err = codec.Back(run.Back); err != nil {
		return false, err
	}
	err = l.quiet.Do(ctx, q)
	return err == nil && q.committed, err
}

// commitTogether commits the runs whose claims are in force. commitTogether reports no error: a run that is not
// committed then runs alone and gets its own error.
func (l *Ledger) commitTogether(ctx context.Context, parts []*combine.Part[*quietRun]) {
	text := func(of func(*quietRun) string) []string { return column(parts, of) }
	number := func(of func(*quietRun) int64) []int64 { return column(parts, of) }
	var n int
	var committed []int
	err := l.askMany(ctx, "commit-quiet", []any{&n}, func() error { committed = append(committed, n-1); return nil },
		text(func(q *quietRun) string { return q.claim.Rule }),
		text(func(q *quietRun) string { return q.claim.Scope }),
		number(func(q *quietRun) int64 { return q.claim.Term }),
		number(func(q *quietRun) int64 { return codec.Micros(q.claim.Due) }),
		number(func(q *quietRun) int64 { return q.claim.Token }),
		text(func(q *quietRun) string { return q.answer }),
		text(func(q *quietRun) string { return q.run.Run.Node }),
		number(func(q *quietRun) int64 { return codec.Micros(q.run.Run.Started) }),
		number(func(q *quietRun) int64 { return q.run.Run.Duration.Microseconds() }),
		number(func(q *quietRun) int64 { return int64(q.run.Run.Rows) }),
		number(func(q *quietRun) int64 { return int64(q.run.Run.Matched) }),
		number(func(q *quietRun) int64 { return int64(q.run.Run.Pending) }),
		number(func(q *quietRun) int64 { return int64(q.run.Run.Firing) }),
		number(func(q *quietRun) int64 { return codec.Micros(q.run.Scope.LastOKDue) }),
		number(func(q *quietRun) int64 { return q.run.Scope.Clock.Microseconds() }),
		text(func(q *quietRun) string { return q.back }),
		codec.MostRuns)
	if err != nil {
		// The commits may have succeeded despite the error. Each run is then committed again, alone. The ledger
		// recognizes a repeated commit.
		return
	}
	for _, i := range committed {
		parts[i].What.committed = true
	}
}

// skippedFiring is a firing that did not run, to be recorded.
type skippedFiring struct {
	rule, scope  string
	term         int64
	due          time.Time
	node, reason string
	recorded     bool
}

// skipTogether records the firings whose scopes are free. skipTogether reports no error: a firing that is not recorded
// then runs alone and gets its own error.
func (l *Ledger) skipTogether(ctx context.Context, parts []*combine.Part[*skippedFiring]) {
	var n int
	var recorded []int
	err := l.askMany(ctx, "skip-many", []any{&n}, func() error { recorded = append(recorded, n-1); return nil },
		column(parts, func(s *skippedFiring) string { return s.rule }),
		column(parts, func(s *skippedFiring) string { return s.scope }),
		column(parts, func(s *skippedFiring) int64 { return s.term }),
		column(parts, func(s *skippedFiring) int64 { return codec.Micros(s.due) }),
		column(parts, func(s *skippedFiring) string { return s.node }),
		column(parts, func(s *skippedFiring) string { return s.reason }),
		l.NowArg())
	if err != nil {
		return
	}
	for _, i := range recorded {
		parts[i].What.recorded = true
	}
}

func column[T, V any](parts []*combine.Part[T], of func(T) V) []V {
	list := make([]V, len(parts))
	for i, p := range parts {
		list[i] = of(p.What)
	}
	return list
}
