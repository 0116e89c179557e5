package judge

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tallyman/internal/ledger"
)

// Error is a failure that is not the source's, with its code.
type Error struct{ Code, Message string }

// Error begins with the code.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

func tooManyRows(most int) error {
	return &Error{"too_many_rows", fmt.Sprintf("the probe returns more than %d rows: raise probe.max_rows or narrow the probe", most)}
}

// mostKept is how many bytes a run keeps until its commit, of rows, keys and messages. What a source takes of one row
// is bounded by the source; this bounds what many rows come to.
const mostKept = 128 << 20

// Budget counts the bytes that a run keeps.
type Budget struct{ bytes int }

// Spend counts so many more. The error is that the run keeps too much.
func (b *Budget) Spend(size int) error {
	if b.bytes += size; b.bytes > mostKept {
		return &Error{"too_many_bytes", fmt.Sprintf("the run would keep more than %d MB of rows and messages: "+
			"select fewer or shorter columns, lower probe.max_rows or narrow the condition", mostKept>>20)}
	}
	return nil
}

// longestKey is how many bytes a key may have: it is kept, indexed and carried by every notice, and cannot be cut.
const longestKey = 4 << 10

var errLongKey = fmt.Errorf("key: is longer than %d bytes", longestKey)

// errored counts a row that could not be judged or told.
func (r *Result) errored(key string, err error) {
	r.run.Errored++
	AddSample(&r.run, short(key)+": "+err.Error())
}

// The bounds of what a run tells of itself; texts in bytes.
const (
	LongSample  = 300
	LongError   = 2000
	mostSamples = 5
	longKey     = 100 // in a sample
)

// AddSample keeps an example of what degraded a run.
func AddSample(run *ledger.Run, text string) {
	if len(run.Samples) < mostSamples {
		run.Samples = append(run.Samples, Cut(text, LongSample))
	}
}

func short(key string) string { return Cut(key, longKey) }

// Cut makes a text one that every ledger takes: of so many bytes at most, valid UTF-8, without NUL.
func Cut(text string, most int) string {
	if len(text) > most {
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		text = text[:most] + "…"
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// AddPass is the sum of the passes of a firing with one more. The last one says how the run ended, but once degraded it
// stays so.
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
