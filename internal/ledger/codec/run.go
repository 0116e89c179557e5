package codec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tallyman/internal/ledger"
)

// MostRuns bounds how many runs that changed nothing share one row of firings. Each takes about 16 bytes.
const MostRuns = 60

// Run is a row of firings: one run, or several consecutive runs with the same result and no notices. Due is the due
// time of the first run.
//
// Earlier has all runs but the last, as offset,lag,duration; … offset is the time from Due to the due time of that
// run, in µs, or in s with an s after it. lag is the time from the due time to the start, in µs.
type Run struct {
	Rule, Scope                                                            string
	Term, Due                                                              int64
	Node                                                                   string
	Started, Duration                                                      int64
	Outcome                                                                string
	Rows, Matched, Errored, Pending, Firing, Notices, Unsubscribed, Strays int
	Error, Samples                                                         string
	LastDue                                                                int64
	Earlier                                                                string
}

// Columns returns pointers to the fields in the order of the columns that the queries of runs name.
func (r *Run) Columns() []any {
	return []any{
		&r.Rule, &r.Scope, &r.Term, &r.Due, &r.Node, &r.Started, &r.Duration, &r.Outcome, &r.Rows, &r.Matched, &r.Errored,
		&r.Pending, &r.Firing, &r.Notices, &r.Unsubscribed, &r.Strays, &r.Error, &r.Samples, &r.LastDue, &r.Earlier,
	}
}

// Last returns the last run of the row.
func (r *Run) Last() (ledger.Run, error) {
	samples, err := ParseTexts(r.Samples)
	return ledger.Run{
		Rule: r.Rule, Scope: r.Scope, Term: r.Term, Due: Time(r.LastDue), Node: r.Node, Started: Time(r.Started), Duration: Span(r.Duration),
		Outcome: ledger.Outcome(r.Outcome), Rows: r.Rows, Matched: r.Matched, Errored: r.Errored, Pending: r.Pending,
		Firing: r.Firing, Notices: r.Notices, Unsubscribed: r.Unsubscribed, Strays: r.Strays, Error: r.Error, Samples: samples,
	}, err
}

// All returns the runs of the row, the latest first.
func (r *Run) All() ([]ledger.Run, error) {
	last, err := r.Last()
	if err != nil {
		return nil, err
	}
	earlier, err := parseEarlier(r.Earlier)
	if err != nil {
		return nil, fmt.Errorf("ledger: runs of rule %q in scope %q: %w", r.Rule, r.Scope, err)
	}
	list := make([]ledger.Run, 1, len(earlier)+1)
	list[0] = last
	for _, run := range slices.Backward(earlier) {
		one := last
		due := r.Due + run.offset
		one.Due, one.Started, one.Duration = Time(due), Time(due+run.lag), Span(run.duration)
		list = append(list, one)
	}
	return list, nil
}

// earlierRun is a run in Run.Earlier, in µs.
type earlierRun struct{ offset, lag, duration int64 }

func parseEarlier(text string) ([]earlierRun, error) {
	var list []earlierRun
	for text != "" {
		one, rest, ended := strings.Cut(text, ";")
		fields := strings.Split(one, ",")
		if !ended || len(fields) != 3 {
			return nil, fmt.Errorf("an earlier run is %q, not offset,lag,duration;", one)
		}
		seconds, whole := strings.CutSuffix(fields[0], "s")
		unit := int64(1)
		if whole {
			unit = 1_000_000
		}
		var run earlierRun
		for at, field := range []struct {
			text string
			to   *int64
		}{{seconds, &run.offset}, {fields[1], &run.lag}, {fields[2], &run.duration}} {
			n, err := strconv.ParseInt(field.text, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("number %d of an earlier run: %w", at+1, err)
			}
			*field.to = n
		}
		run.offset *= unit
		list = append(list, run)
		text = rest
	}
	return list, nil
}

// QuietArgs returns the columns of a run that changed nothing, under the claim: rule, scope, clock term, due, token,
// answer, node, start, duration, rows, matched rows, pending, firing.
func QuietArgs(c ledger.Claim, r *ledger.Run, answer string) []any {
	return []any{
		c.Rule, c.Scope, c.Term, Micros(c.Due), c.Token, answer, r.Node, Micros(r.Started), r.Duration.Microseconds(), r.Rows, r.Matched, r.Pending, r.Firing,
	}
}

// Briefs decodes the runs in the form of the statement run-sums: outcome:earlier:µs/…
func Briefs(text string) ([]ledger.Brief, error) {
	if text == "" {
		return nil, nil
	}
	var list []ledger.Brief
	for part := range strings.SplitSeq(text, "/") {
		outcome, rest, _ := strings.Cut(part, ":")
		before, took, _ := strings.Cut(rest, ":")
		us, err := strconv.ParseInt(took, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("ledger: a run took %q: %w", took, err)
		}
		earlier, err := parseEarlier(before)
		if err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		for _, run := range earlier {
			list = append(list, ledger.Brief{Took: Span(run.duration), Outcome: ledger.Outcome(outcome)})
		}
		list = append(list, ledger.Brief{Took: Span(us), Outcome: ledger.Outcome(outcome)})
	}
	return list[max(len(list)-ledger.LastBriefs, 0):], nil
}
