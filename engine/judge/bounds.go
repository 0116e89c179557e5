package judge

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tallyman/internal/ledger"
)

// Error is a failure that does not come from the source, with its code.
type Error struct{ Code, Message string }

// Error returns the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

func tooManyRows(most int) error {
	return &Error{"too_many_rows", fmt.Sprintf("the probe returns more than %d rows: raise probe.max_rows or narrow the probe", most)}
}

// mostKept bounds the bytes of rows, keys and messages that a run keeps until its commit. The source bounds the size of
// one row; mostKept bounds the sum of all rows.
const mostKept = 128 << 20

// Budget counts the bytes that a run keeps.
type Budget struct{ bytes int }

// Spend adds bytes to the count. Spend returns an error when the run keeps too many.
func (b *Budget) Spend(size int) error {
	if b.bytes += size; b.bytes > mostKept {
		return &Error{"too_many_bytes", fmt.Sprintf("the run would keep more than %d MB of rows and messages: "+
			"select fewer or shorter columns, lower probe.max_rows or narrow the condition", mostKept>>20)}
	}
	return nil
}

// longestKey is the largest size of a key in bytes. The ledger stores and indexes a key, and every notice carries it. A
// key must not be cut, because a cut key could be the key of another finding.
const longestKey = 4 << 10

var errLongKey = fmt.Errorf("key: is longer than %d bytes", longestKey)

// errored counts a row that could not be judged, or whose notice could not be made.
func (r *Result) errored(key string, err error) {
	r.run.Errored++
	AddSample(&r.run, short(key)+": "+err.Error())
}

// The bounds of a run's record. Lengths of texts are in bytes.
const (
	LongSample  = 300
	LongError   = 2000
	mostSamples = 5
	longKey     = 100 // The key in a sample.
)

// AddSample adds an example of what degraded the run, unless the run has enough examples.
func AddSample(run *ledger.Run, text string) {
	if len(run.Samples) < mostSamples {
		run.Samples = append(run.Samples, Cut(text, LongSample))
	}
}

func short(key string) string { return Cut(key, longKey) }

// Cut returns a text that every ledger accepts: at most so many bytes and an ellipsis, valid UTF-8, no NUL.
func Cut(text string, most int) string {
	if len(text) > most {
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		text = text[:most] + "…"
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// AddPass adds a pass to run, the sum of the earlier passes of a firing, and returns the new sum. The last pass decides
// the outcome, but AddPass does not turn a degraded run into a run that is ok.
func AddPass(run, pass *ledger.Run) ledger.Run {
	sum := *pass
	if run.Outcome == ledger.OutcomeDegraded && pass.Outcome == ledger.OutcomeOK {
		sum.Outcome = ledger.OutcomeDegraded
	}
	if !run.Started.IsZero() {
		sum.Started = run.Started
	}
	sum.Duration += run.Duration
	sum.Rows += run.Rows
	sum.Matched += run.Matched
	sum.Errored += run.Errored
	sum.Notices += run.Notices
	sum.Unsubscribed += run.Unsubscribed
	sum.Samples = slices.Clone(run.Samples)
	for _, text := range pass.Samples {
		AddSample(&sum, text)
	}
	return sum
}
