package rules

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"tallyman/internal/notice"
	"tallyman/rules/condition"
	"tallyman/rules/probe"
	"tallyman/rules/problem"
	"tallyman/rules/schedule"
	"tallyman/rules/strictyaml"
)

// validator checks one effective rule, as far as that needs neither the configuration nor a database.
type validator struct {
	r        *Rule
	use      *paramUse
	problems problem.List
}

func validate(r *Rule, parts []paramPart, use *paramUse) problem.List {
	v := &validator{r: r, use: use}
	v.identity()
	v.schedule()
	v.mode()
	v.per()
	v.limit()
	stmt := v.sql()
	v.columnForms(stmt)
	v.watermark(stmt)
	v.split(stmt)
	v.params(parts, stmt)
	v.expr("when", r.When)
	v.key()
	v.group()
	v.watched()
	v.notice()
	v.alerts()
	v.deliver()
	return v.problems
}

func (v *validator) fail(path, code, message, hint string) {
	v.problems = append(v.problems, v.r.Problem(path, code, message, hint))
}

func (v *validator) at(n *strictyaml.Node, code, message, hint string) {
	v.problems = append(v.problems, v.r.origin.file.Problem(n, code, message, hint))
}

func (v *validator) has(path string) bool { return v.r.origin.has(path) }

// isText tells whether the field holds a text. A field of another kind is not checked further, since decoding has
// reported it.
func (v *validator) isText(path string) bool {
	n := v.r.origin.at(path, false)
	return n != nil && n.Kind == strictyaml.Scalar && (n.Tag == "!!str" || n.Tag == "!!timestamp")
}

// need reports a field that is missing or empty.
func (v *validator) need(path, hint string) {
	if !v.has(path) {
		v.fail(path, strictyaml.CodeMissing, path+" is missing", hint)
	} else if v.isText(path) && v.r.origin.at(path, false).Text == "" {
		v.fail(path, strictyaml.CodeMissing, path+" is empty", hint)
	}
}

func (v *validator) identity() {
	v.need("id", "a rule has an id of its own for life, such as negative-bin-stock")
	if v.isText("id") && v.r.ID != "" && !ruleID.MatchString(v.r.ID) {
		v.fail("id", CodeBadID, fmt.Sprintf("%q cannot be an id", v.r.ID), "lower-case letters, digits and -, at most 63, as negative-bin-stock")
	}
	v.need("source", "the name of a source in the configuration; defaults may set it")
	if v.isText("runbook_url") {
		u, err := url.Parse(v.r.RunbookURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			v.fail("runbook_url", CodeBadURL, fmt.Sprintf("%q is no web address", v.r.RunbookURL), "it begins with https:// or http://")
		}
	}
	if labels := v.r.origin.at("labels", false); labels != nil && labels.Kind == strictyaml.Mapping {
		for _, f := range labels.Fields {
			if !plainName.MatchString(f.Name) {
				v.at(f.Key, CodeBadName, fmt.Sprintf("%q cannot name a label", f.Name), "letters, digits, _ . and -, at most 64")
			}
		}
		for _, f := range notice.CheckLabels(v.r.Labels) {
			if name, isOne := strings.CutPrefix(f.At, "labels."); !isOne || plainName.MatchString(name) {
				v.fail(f.At, strictyaml.CodeOutOfRange, f.At+": "+f.Message, "every notice carries all labels: use fewer or shorter ones")
			}
		}
	}
}

// anyCron takes the place of a missing cron, so that the timezone is still checked.
const anyCron = "0 0 * * *"

func (v *validator) schedule() {
	v.need("schedule.cron", `for example "*/5 * * * *"`)
	cron, zone := v.r.Schedule.Cron, v.r.Schedule.Timezone
	if v.has("schedule.timezone") && !v.isText("schedule.timezone") {
		return
	}
	if !v.isText("schedule.cron") || cron == "" {
		cron = anyCron
	}
	parsed, err := schedule.Parse(cron, zone)
	if err == nil && !v.has("schedule.jitter") {
		v.r.Schedule.Jitter = schedule.DefaultJitter(parsed)
	}
	if err == nil && v.r.Schedule.Jitter >= parsed.Shortest() {
		v.fail("schedule.jitter", strictyaml.CodeOutOfRange,
			fmt.Sprintf("a jitter of %s reaches the next firing, which may be due after %s", strictyaml.FormatDuration(v.r.Schedule.Jitter), strictyaml.FormatDuration(parsed.Shortest())),
			"make it shorter")
	}
	fault, ok := errors.AsType[*schedule.Error](err)
	if !ok {
		return
	}
	code := CodeBadCron
	if fault.Field == "timezone" {
		code = CodeBadTimezone
		if cron != anyCron {
			v.cronAlone(cron)
		}
	}
	v.fail("schedule."+fault.Field, code, fault.Field+": "+fault.Message, fault.Hint)
}

// cronAlone checks the cron where the timezone is wrong. schedule.Parse reports only the timezone then.
func (v *validator) cronAlone(cron string) {
	_, err := schedule.Parse(cron, "UTC")
	if fault, ok := errors.AsType[*schedule.Error](err); ok {
		v.fail("schedule.cron", CodeBadCron, fault.Field+": "+fault.Message, fault.Hint)
	}
}

// sql parses the probe's statement. It returns nil where the statement is missing or has faults.
func (v *validator) sql() *probe.Statement {
	v.need("probe.sql", "one SELECT")
	if !v.isText("probe.sql") || v.r.Probe.SQL == "" {
		return nil
	}
	stmt, faults := v.r.Probe.Statement()
	for _, f := range faults {
		v.problems = append(v.problems, v.r.ProblemIn("probe.sql", f.Offset, f.Code, f.Message, f.Hint))
	}
	if len(faults) > 0 {
		return nil
	}
	return stmt
}

// expr checks the syntax of an expression. Compile checks its names and kinds, when the columns are known.
func (v *validator) expr(path, src string) {
	n := v.r.origin.at(path, false)
	if n == nil || n.Kind != strictyaml.Scalar || n.IsNull() {
		return
	}
	parse := condition.Parse
	if v.r.Per == PerResult {
		parse = condition.ParseResult
	}
	for _, e := range condition.Errors(parse(src)) {
		p := v.r.ProblemIn(path, e.Offset, string(e.Code), e.Message, e.Hint)
		if e.Offset >= utf8.RuneCountInString(strings.TrimSpace(src)) && strings.Contains(p.Snippet, " #") {
			p.Hint = "a # behind a space begins a comment in YAML: put the expression in quotes, or write .qty for #.qty"
		}
		v.problems = append(v.problems, p)
	}
}

func (v *validator) key() {
	if v.r.Per == PerResult {
		return
	}
	v.need("key", "the columns that tell one finding from another")
	list := v.r.origin.at("key", false)
	if list == nil || list.Kind != strictyaml.Sequence {
		return
	}
	if len(list.Items) == 0 {
		v.fail("key", strictyaml.CodeMissing, "key names no column", "the columns that tell one finding from another")
	}
	v.columns("key", v.r.Key)
}

// columns checks a list of column names: no name is empty, and no name is there twice.
func (v *validator) columns(path string, names []string) {
	for i, name := range names {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case name == "" && v.isText(at):
			v.fail(at, CodeBadName, "a column has no name", "")
		case name != "" && slices.Contains(names[:i], name):
			v.fail(at, CodeDuplicateName, fmt.Sprintf("%s has the column %q twice", path, name), "")
		}
	}
}

// The spellings of names in a rule file.
var (
	ruleID    = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
	plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`) // scopes, warehouses, labels
	paramName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// The codes of this package's own problems. strictyaml, condition, probe and message have their own codes.
// docs/reference/error-codes.md has an example of each code.
const (
	CodeUnreadable    = "file_unreadable"
	CodeRuleTest      = "rule_test"
	CodeBadID         = "bad_id"
	CodeDuplicateID   = "duplicate_id"
	CodeBadName       = "bad_name"
	CodeDuplicateName = "duplicate_name"
	CodeTooMany       = "too_many_rules"
	CodeBadURL        = "bad_url"
	CodeBadCron       = "bad_cron"
	CodeBadTimezone   = "bad_timezone"
	CodeOverride      = "not_overridable"
	CodeConflict      = "conflict"
	CodeMode          = "wrong_mode"
	CodePer           = "wrong_per"
	CodeGroup         = "group_warehouse"
	CodeAlert         = "alert_warehouse"
	CodeParamMissing  = "param_missing"
	CodeParamUnused   = "param_unused"
	CodeParamReserved = "param_reserved"
	CodeColumnForm    = "bad_column_form"
	CodeWatermark     = "bad_watermark"
	CodePriority      = "bad_priority"
	CodeUnknownSource = "unknown_source"
	CodeUnknownType   = "unknown_type"
	CodeUnknownColumn = "unknown_column"
	CodeColumnName    = "unusable_column"
	CodeUnknownData   = "unknown_data_field"
	CodeDataMissing   = "data_field_missing"
	CodeDataKind      = "data_field_kind"
	CodeExprKind      = "wrong_kind"
)
