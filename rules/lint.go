package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tallyman/rules/condition"
	"tallyman/rules/probe"
	"tallyman/rules/problem"
	"tallyman/rules/row"
	"tallyman/rules/schedule"
	"tallyman/rules/strictyaml"
)

// The codes of warnings. A rule with a warning runs, but probably not as its author meant.
const (
	CodeShortFor    = "shorter_than_interval"
	CodeCronStep    = "cron_step"
	CodeNoWatermark = "event_without_watermark"
	CodeTextNumber  = "text_as_number"
	CodeNumberText  = "number_as_text"
	CodeNullableKey = "nullable_key"
	CodeFirstRun    = "first_run_large"
	CodeInitial     = "initial_without_effect"
)

// Lint returns the warnings about a sound rule that need neither columns nor a source.
func Lint(r *Rule) problem.List {
	var l problem.List
	if s, err := schedule.Parse(r.Schedule.Cron, r.Schedule.Timezone); err == nil {
		l = append(l, shortSpans(r, s.Shortest())...)
	}
	if field, step, size := wideStep(r.Schedule.Cron); step > 0 {
		l = append(l, r.Problem("schedule.cron", CodeCronStep,
			fmt.Sprintf("the step /%d is larger than the field %s, which has %d values: only its first value counts", step, field, size), cronStepHint(field, step)))
	}
	if r.Mode == ModeEvent && r.Probe.Watermark == nil {
		l = append(l, r.Problem("mode", CodeNoWatermark, "mode event without a watermark reads all rows at each run",
			"add probe.watermark and compare with :wm_<column> in the SQL, so that each run reads only the new rows"))
	}
	return l
}

// shortSpans warns of for and keep_firing_for where they are shorter than the interval between two firings.
func shortSpans(r *Rule, interval time.Duration) problem.List {
	var l problem.List
	for _, span := range []struct {
		field, does string
		length      time.Duration
	}{
		{"for", "a finding fires at its second run, as with any shorter time", r.For},
		{"keep_firing_for", "a finding resolves at the second run without its row, as with any shorter time", r.KeepFiringFor},
	} {
		if span.length > 0 && span.length < interval {
			l = append(l, r.Problem(span.field, CodeShortFor, fmt.Sprintf("%s: %s is shorter than the interval between two firings, %s: %s",
				span.field, strictyaml.FormatDuration(span.length), strictyaml.FormatDuration(interval), span.does), "make it several intervals long, or let the cron fire more often"))
		}
	}
	return l
}

var (
	cronStep   = regexp.MustCompile(`/([0-9]+)$`)
	cronFields = []struct {
		name string
		size int
	}{{"minute", 60}, {"hour", 24}, {"day of month", 31}, {"month", 12}, {"day of week", 7}}
)

// wideStep finds a step that leaves only one value of its field, such as */90. It returns step 0 where there is none.
func wideStep(cron string) (field string, step, size int) {
	fields := strings.Fields(cron)
	if len(fields) != len(cronFields) {
		return "", 0, 0
	}
	for i, text := range fields {
		for item := range strings.SplitSeq(text, ",") {
			m := cronStep.FindStringSubmatch(item)
			if m == nil {
				continue
			}
			if n, err := strconv.Atoi(m[1]); err == nil && n >= cronFields[i].size {
				return cronFields[i].name, n, cronFields[i].size
			}
		}
	}
	return "", 0, 0
}

func cronStepHint(field string, step int) string {
	if field == "minute" {
		return fmt.Sprintf(`write "@every %dm" for each %d minutes, or 0 * * * * for each hour`, step, step)
	}
	return "write the value that is meant"
}

// LintColumns returns the warnings that need the probe's columns. The rule must compile against the columns.
func LintColumns(r *Rule, columns []row.Column) problem.List {
	var l problem.List
	for _, e := range condition.TextNumbers(r.When, columns, r.Per == PerResult) {
		l = append(l, r.ProblemIn("when", e.Offset, CodeTextNumber, e.Message, e.Hint))
	}
	for i, name := range r.Key {
		at := row.Index(columns, name)
		if at >= 0 && columns[at].Nullable && isPlainColumn(r.Probe.SQL, name) {
			l = append(l, r.Problem(fmt.Sprintf("key[%d]", i), CodeNullableKey,
				fmt.Sprintf("the column %s may be NULL, and all rows with NULL there are one finding", name),
				fmt.Sprintf("add %s IS NOT NULL to the SQL, or give such rows a value: coalesce(%s, …) AS %s", name, name, name)))
		}
	}
	return l
}

// mostAtFirst is the most notices that a first run sends without a warning.
const mostAtFirst = 50

// LintFirstRun returns a warning where the first run of the rule would send many notices. notices is the number of
// notices without digests.
func LintFirstRun(r *Rule, notices int) problem.List {
	if notices <= mostAtFirst || r.FirstRun == FirstRunBaseline {
		return nil
	}
	where := ""
	if r.Scope != "" {
		where = " in " + r.Scope
	}
	return problem.List{r.Problem("first_run", CodeFirstRun, fmt.Sprintf("the first run of the rule%s would send %d notices about rows that are already there", where, notices),
		"write first_run: baseline, which records the present rows without notices, or bound the notices with limit")}
}

// isPlainColumn tells whether the SQL returns the column as the table has it. It is false where the SQL calculates the
// column, or tests it with IS NOT NULL.
func isPlainColumn(sql, name string) bool {
	tokens, _ := probe.Lex(sql)
	isName := func(i int) bool { return i >= 0 && i < len(tokens) && strings.EqualFold(tokens[i].Name(), name) }
	named := slices.ContainsFunc(tokens, func(t probe.Token) bool { return strings.EqualFold(t.Name(), name) })
	for i := range tokens {
		if tokens[i].Is("as") && isName(i+1) {
			return false
		}
		if isName(i) && i+3 < len(tokens) && tokens[i+1].Is("is") && tokens[i+2].Is("not") && tokens[i+3].Is("null") {
			return false
		}
	}
	return named
}
