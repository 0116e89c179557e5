package authoring

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/rules"
	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// answering is a source whose answers come from a test. It counts the questions that run at the same time.
type answering struct {
	answer           func(n int) error // to the n-th question, from 1
	asked, now, most atomic.Int32
}

func (a *answering) Prepare(context.Context, *probe.Statement) (scanners.PreparedProbe, error) {
	n := a.asked.Add(1)
	for now := a.now.Add(1); ; {
		if most := a.most.Load(); now <= most || a.most.CompareAndSwap(most, now) {
			break
		}
	}
	defer a.now.Add(-1)
	if err := a.answer(int(n)); err != nil {
		return nil, err
	}
	return oneColumn{}, nil
}

func (a *answering) Ping(context.Context) error { return nil }

func (a *answering) Close() error { return nil }

// oneColumn is a probe that is prepared and never run.
type oneColumn struct{}

func (oneColumn) Scan(context.Context, scanners.Request, func(*row.Row) error) (scanners.Result, error) {
	return scanners.Result{}, errors.New("a check runs no probe")
}

func (oneColumn) Columns() []row.Column { return []row.Column{{Name: "bin", Kind: row.Text}} }

// checkOn checks fifty rules on the source, two at a time.
func checkOn(t *testing.T, source scanners.Source) *sourceCheck {
	t.Helper()
	var text strings.Builder
	text.WriteString("version: 1\ndefaults: {schedule: {cron: '@hourly'}, source: wms, key: [bin], deliver: [{sink: inbox}], probe: {sql: SELECT bin FROM b},\n" +
		"  notice: {type: REP_NOTICE, warehouse: \"'w'\", title: Look, fields: {bin: bin}}}\nrules:\n")
	for n := range 50 {
		fmt.Fprintf(&text, "  - {id: rule-%02d}\n", n)
	}
	set := rules.LoadFile("f.yaml", []byte(text.String()))
	if len(set.Rules) != 50 {
		t.Fatal(set.Problems)
	}
	s := &sourceCheck{name: "wms", types: newTypes}
	for _, r := range set.Rules {
		s.checks = append(s.checks, &ruleCheck{rule: r})
	}
	s.each(t.Context(), source, 2)
	return s
}

func refusal(code scanners.Code) error {
	return &scanners.Error{Code: code, Transient: true, Err: errors.New("away")}
}

func TestASourceIsAskedAFewQuestionsAtATime(t *testing.T) {
	t.Parallel()
	source := &answering{answer: func(int) error { return nil }}
	s := checkOn(t, source)
	if n, most := source.asked.Load(), source.most.Load(); n != 50 || most > 2 || len(s.problems)+len(s.warnings) > 0 {
		t.Errorf("%d questions, %d at a time; %v %v", n, most, s.problems, s.warnings)
	}
}

// A source that is lost or hangs gives one warning, and is not asked for the other rules.
func TestASourceThatGoesAwayIsLeftAlone(t *testing.T) {
	t.Parallel()
	for code, c := range map[scanners.Code]struct{ most, single int }{
		scanners.CodeUnreachable: {11 + 2, 0}, scanners.CodeTimeout: {13 + 2, mostTimeouts},
	} {
		source := &answering{answer: func(n int) error {
			if n > 10 {
				return refusal(code)
			}
			return nil
		}}
		s := checkOn(t, source)
		var once, single int
		for _, w := range s.warnings {
			if w.Code == string(scanners.CodeUnreachable) {
				once++
			} else {
				single++
			}
		}
		if n := int(source.asked.Load()); n > c.most || once != 1 || single < c.single || single > c.single+1 || len(s.problems) > 0 {
			t.Errorf("%s: %d questions; %v %v", code, n, s.problems, s.warnings)
		}
	}
}

// An error of a source has the place that the source names, or else the place of the word that the error quotes.
func TestSQLProblemsHaveTheirPlace(t *testing.T) {
	t.Parallel()
	const sql = "SELECT bin, qtty AS qty FROM \"Odd Bins\" WHERE wh = :warehouse"
	set := rules.LoadFile("f.yaml", []byte(`version: 1
rules:
  - id: example
    schedule: {cron: "@hourly"}
    source: wms
    probe:
      sql: |
        `+sql+`
      params: {warehouse: 1}
    key: [bin]
    notice: {type: A, warehouse: "'w'", title: Look}
    deliver: [{sink: inbox}]
`))
	if len(set.Problems) > 0 {
		t.Fatal(set.Problems)
	}
	for message, word := range map[string]string{
		`no such column: qtty`:                               "qtty",
		`Unknown column 'b.qtty' in 'field list'`:            "qtty",
		`relation "odd bins" does not exist`:                 `"Odd Bins"`,
		"near \"WHERE\": syntax error":                       "WHERE",
		"parameter :warehouse cannot be read: invalid input": ":warehouse",
		"something else":                                     "SELECT",
	} {
		p := sqlProblem(set.Rules[0], &scanners.Error{Code: scanners.CodeStatement, Err: errors.New(message)})
		if want := strings.Index(sql, word) + 9; p.Line != 8 || p.Col != want {
			t.Errorf("%s: stands at %d:%d, want 8:%d", message, p.Line, p.Col, want)
		}
	}
	p := sqlProblem(set.Rules[0], &scanners.Error{Code: scanners.CodeStatement, At: 8, Err: errors.New(`wrong (line 1 of the probe) [42]`)})
	if p.Col != 16 || p.Message != "wrong [42]" {
		t.Errorf("with a place: %s", p.Error())
	}
}

// timed is a source with a clock.
type timed struct {
	*answering
	clock func() (time.Time, error)
}

func (s timed) Clock(context.Context) (time.Time, error) { return s.clock() }

// TestAServerOfAnotherTimeIsWarnedOf compares clocks and zones with this machine's and the setting.
func TestAServerOfAnotherTimeIsWarnedOf(t *testing.T) {
	t.Parallel()
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	london, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		ahead        time.Duration
		zone         *time.Location
		setting      *time.Location
		broken       error
		want, second string
	}{
		"as set":              {zone: shanghai, setting: shanghai},
		"UTC by default":      {zone: time.UTC},
		"another name":        {zone: time.FixedZone("+08:00", 8*3600), setting: shanghai},
		"another zone":        {zone: shanghai, want: "the server's time zone of the source wms is Asia/Shanghai (+08:00), and the source has no timezone"},
		"UTC, and it is said": {zone: shanghai, setting: time.UTC},
		"local times, and the server's zone is UTC": {zone: time.UTC, setting: shanghai},
		"alike in winter": {zone: london, want: "Europe/London"},
		"ahead":           {zone: time.UTC, ahead: 95 * time.Second, want: "the clock of the source wms is 1m35s ahead"},
		"behind":          {zone: time.UTC, ahead: -10 * time.Second, want: "10s behind"},
		"a little":        {zone: time.UTC, ahead: time.Second},
		"both":            {zone: shanghai, ahead: time.Minute, want: "1m ahead", second: "Asia/Shanghai"},
		"untold":          {broken: errors.New("no right"), want: "does not tell its time, so its clock and time zone are not checked: no right"},
	} {
		source := timed{&answering{}, func() (time.Time, error) {
			if c.broken != nil {
				return time.Time{}, c.broken
			}
			return time.Now().Add(c.ahead).In(c.zone), nil
		}}
		s := checkOn(t, &answering{answer: func(int) error { return nil }})
		s.checkTime(t.Context(), source, c.setting)
		var want []string
		for _, text := range []string{c.want, c.second} {
			if text != "" {
				want = append(want, text)
			}
		}
		found, other := s.lints, s.warnings
		if c.broken != nil { // then something was not checked
			found, other = s.warnings, s.lints
		}
		if len(found) != len(want) || len(other) > 0 {
			t.Errorf("%s: %v %v", name, found, other)
			continue
		}
		for i, w := range found {
			if !strings.Contains(w.Message, want[i]) || w.Code != string(scanners.CodeTime) || w.Rule != "" {
				t.Errorf("%s: %+v, want %q", name, w, want[i])
			}
		}
	}
}
