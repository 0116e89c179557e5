package engine

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"tallyman/internal/ledger"
)

func tooManyRows(most int) error {
	return &runError{"too_many_rows", fmt.Sprintf("the probe returns more than %d rows: raise probe.max_rows or narrow the probe", most)}
}

// mostKept is how many bytes a run keeps until its commit, of rows, keys and messages. What a source takes of one row is
// bounded by the source; this bounds what many rows come to.
const mostKept = 128 << 20

// kept counts what a run keeps.
type kept struct{ bytes int }

func (k *kept) add(size int) error {
	if k.bytes += size; k.bytes > mostKept {
		return &runError{"too_many_bytes", fmt.Sprintf("the run would keep more than %d MB of rows and messages: "+
			"select fewer or shorter columns, lower probe.max_rows or narrow the condition", mostKept>>20)}
	}
	return nil
}

// longestKey is how many bytes a key may have: it is kept, indexed and carried by every notice, and cannot be cut.
const longestKey = 4 << 10

var errLongKey = fmt.Errorf("key: is longer than %d bytes", longestKey)

// errored counts a row that could not be judged or told.
func (f *found) errored(key string, err error) {
	f.run.Errored++
	sample(&f.run, short(key)+": "+err.Error())
}

// The bounds of what a run tells of itself.
const (
	mostSamples = 5
	longSample  = 300
	longKey     = 100 // in a sample
	longError   = 2000
)

// sample keeps an example of what degraded a run.
func sample(run *ledger.Run, text string) {
	if len(run.Samples) < mostSamples {
		run.Samples = append(run.Samples, cut(text, longSample))
	}
}

func short(key string) string { return cut(key, longKey) }

// cut makes a text one that every ledger takes: of so many bytes at most, valid UTF-8, without NUL.
func cut(text string, most int) string {
	if len(text) > most {
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		text = text[:most] + "…"
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
