package authoring

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/config"
	"tallyman/internal/notice"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/probe"
	"tallyman/rules/problem"
	"tallyman/rules/schedule"
	"tallyman/rules/strictyaml"
)

// CheckOptions says how far Check looks.
type CheckOptions struct {
	Paths   []string // rule files or folders; the configuration's own where nil
	Live    bool     // prepare each probe on its source, and compile the rule against the columns
	Explain bool     // say what each sound rule comes to
	Strict  bool     // take lints for problems
}

// Checked is what Check found.
type Checked struct {
	Files     int
	Rules     int          // sound ones, each scope counted
	Problems  problem.List // by place
	Warnings  problem.List // what could not be checked, and why
	Lints     problem.List // what is sound and hardly meant so
	Notes     problem.List // what is good to know of sound rules
	Explained []Explained  // by rule and scope
}

// Check reads rule files. With a configuration they are held against its sources, sinks and catalogue; where that
// is asked for, against the databases too. The configuration may have been loaded lazily: only the secrets of sources
// that are asked are needed.
func (c Commands) Check(ctx context.Context, cfg *config.Config, o CheckOptions) (Checked, error) {
	if len(o.Paths) == 0 && cfg != nil {
		o.Paths = cfg.Rules.Paths
	}
	set := rules.Load(o.Paths)
	result := Checked{Files: len(set.Files)}
	var types catalog.Catalog
	if cfg != nil {
		types, result.Problems = catalog.Load(cfg.Types.Path, catalog.OnSinks(Sinks(cfg)))
		if len(result.Problems) == 0 {
			maps.Copy(types, catalog.BuiltIn())
			rules.Check(set, Known(cfg, types))
		}
	}
	result.Problems = append(result.Problems, set.Problems...)
	live := o.Live && cfg != nil && types != nil
	list, more, scopes := c.checkScopes(ctx, cfg, set.Rules, live)
	checks := make([]*ruleCheck, len(list))
	for i, r := range list {
		checks[i] = &ruleCheck{rule: r}
	}
	if live {
		said := c.checkLive(ctx, cfg, types, checks)
		scopes.add(&said)
	}
	result.Rules = more
	result.addLive(scopes)
	for _, check := range checks {
		if !check.refused {
			result.Rules++
			result.Lints = append(result.Lints, lint(check)...)
			result.Notes = append(result.Notes, lookBackCost(check.rule)...)
		}
	}
	result.Lints, result.Notes = rules.Tidy(result.Lints), rules.Tidy(result.Notes)
	if o.Strict {
		result.Problems, result.Lints = rules.Tidy(append(result.Problems, result.Lints...)), nil
	}
	if o.Explain {
		for _, check := range checks {
			t := types[check.rule.Notice.Type]
			check.rule = check.rule.Of(&t)
			result.Explained = append(result.Explained, explainRule(check, time.Now()))
		}
	}
	return result, context.Cause(ctx)
}

// lint returns the warnings about a sound rule, those about its columns where they are known.
func lint(c *ruleCheck) problem.List {
	l := rules.Lint(c.rule)
	if c.columns != nil {
		l = append(l, rules.LintColumns(c.rule, c.columns)...)
	}
	return append(l, c.lints...)
}

// addLive adds what the sources have said.
func (c *Checked) addLive(said sourceFindings) {
	c.Problems = rules.Tidy(append(c.Problems, said.problems...))
	c.Warnings = rules.Tidy(said.warnings)
	c.Lints, c.Notes = said.lints, said.notes
}

// nextFirings is how many due times an explained rule shows.
const nextFirings = 5

// Explained is what a rule comes to in one scope: all that was not written included.
type Explained struct {
	Rule       string            `json:"rule"`
	Scope      string            `json:"scope"`
	File       string            `json:"file"`
	Source     string            `json:"source"`
	Unverified string            `json:"unverified,omitempty"` // why its columns are not known, or do not do
	Columns    []ExplainedColumn `json:"columns"`
	Params     []ExplainedParam  `json:"params"`
	Cost       *float64          `json:"cost,omitempty"` // of the probe, where the source says it
	Plan       string            `json:"plan,omitempty"`
	Next       []time.Time       `json:"next"`   // due times in the rule's timezone
	Fields     []ExplainedField  `json:"fields"` // in force, in the order of the reference
}

// ExplainedColumn is a column that the probe returns.
type ExplainedColumn struct {
	Name         string   `json:"name"`
	Kind         string   `json:"kind"`         // as conditions see it
	DatabaseType string   `json:"databaseType"` // as the source calls it
	Nullable     bool     `json:"nullable"`     // false only where the source says so
	Uses         []string `json:"uses"`         // the fields of the rule that read it
}

// ExplainedParam is a parameter of the probe.
type ExplainedParam struct {
	Name  string `json:"name"`
	Value any    `json:"value"` // null for a built-in one
	From  string `json:"from"`  // what a built-in one is; "" where the rule gives the value
}

// ExplainedField is a field of a rule, and what is in force for it.
type ExplainedField struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func explainRule(c *ruleCheck, now time.Time) Explained {
	r := c.rule
	e := Explained{
		Rule: r.ID, Scope: r.Scope, File: r.File, Source: r.Source, Unverified: c.reason,
		Columns: []ExplainedColumn{}, Params: explainParams(r), Next: []time.Time{}, Fields: explainFields(r),
	}
	var uses [][]string
	if c.program != nil {
		uses = c.program.Uses(c.columns)
	}
	for i, col := range c.columns {
		column := ExplainedColumn{Name: col.Name, Kind: col.Kind.String(), DatabaseType: col.DBType, Nullable: col.Nullable, Uses: []string{}}
		if uses != nil && uses[i] != nil {
			column.Uses = uses[i]
		}
		e.Columns = append(e.Columns, column)
	}
	if c.plan != nil {
		e.Cost, e.Plan = &c.plan.Cost, c.plan.Shape
	}
	if s, err := schedule.Parse(r.Schedule.Cron, r.Schedule.Timezone); err == nil {
		zone, _ := time.LoadLocation(r.Schedule.Timezone) // the schedule has loaded it
		for at := s.Next(now); len(e.Next) < nextFirings && !at.IsZero(); at = s.Next(at) {
			e.Next = append(e.Next, at.In(zone))
		}
	}
	return e
}

// builtInParams says what the parameters are that every probe may use.
var builtInParams = map[string]string{
	"now": "the time of the run", "scheduled_at": "the firing's due time", "last_run_at": "the due time of the last good run",
	"scope": "the scope's name", "until": "the due time less the watermark's lag",
}

func explainParams(r *rules.Rule) []ExplainedParam {
	list := []ExplainedParam{}
	stmt, _ := r.Probe.Statement() // sound, as the rule was loaded
	for _, name := range stmt.Params {
		name, _, _ = probe.Formed(name)
		if slices.ContainsFunc(list, func(p ExplainedParam) bool { return p.Name == name }) {
			continue
		}
		p := ExplainedParam{Name: name}
		column, mark := strings.CutPrefix(name, "wm_")
		switch value, own := r.Probe.Params[name]; {
		case own:
			p.Value = value
		case name == "scope":
			p.Value, p.From = r.Scope, builtInParams[name]
		case mark:
			p.Value, p.From = r.Probe.Watermark.Initial[column], "the watermark; this is its first value"
		default:
			p.From = builtInParams[name]
		}
		list = append(list, p)
	}
	return list
}

// explainFields lists what is in force, less what the other parts of an explanation show.
func explainFields(r *rules.Rule) []ExplainedField {
	var list []ExplainedField
	add := func(name, value string) {
		if value != "" {
			list = append(list, ExplainedField{name, value})
		}
	}
	list = append(list, ExplainedField{"enabled", strconv.FormatBool(r.Enabled)}, ExplainedField{"mode", string(r.Mode)})
	if r.Shadow {
		add("shadow", "true")
	}
	add("schedule.cron", r.Schedule.Cron)
	add("schedule.timezone", r.Schedule.Timezone)
	add("schedule.jitter", duration(r.Schedule.Jitter, ""))
	add("schedule.overlap", string(r.Schedule.Overlap))
	add("schedule.catch_up", string(r.Schedule.CatchUp))
	add("probe.timeout", duration(r.Probe.Timeout, ""))
	add("probe.max_rows", strconv.Itoa(r.Probe.MaxRows))
	if r.Probe.MaxCost > 0 {
		add("probe.max_cost", strconv.Itoa(r.Probe.MaxCost))
	}
	if w := r.Probe.Watermark; w != nil {
		add("probe.watermark.lag", duration(w.Lag, ""))
		add("probe.watermark.look_back", w.LooksBack().String())
	}
	add("per", string(r.Per))
	add("when", r.When)
	add("key", strings.Join(r.Key, ", "))
	add("group_by", strings.Join(r.GroupBy, ", "))
	add("split_by", r.SplitBy)
	if r.Mode == rules.ModeState {
		add("for", duration(r.For, "0s"))
		add("keep_firing_for", duration(r.KeepFiringFor, "0s"))
		add("repeat_interval", duration(r.RepeatInterval, "never"))
		add("notify_again_on", strings.Join(r.NotifyAgainOn, ", "))
		add("no_data", string(r.NoData))
	}
	add("first_run", string(r.FirstRun))
	onError := string(r.OnError)
	if limit := r.Unjudged.String(); limit != "" {
		onError += ": " + limit
	}
	add("on_error", onError)
	if r.Limit.Notices > 0 {
		add("limit", fmt.Sprintf("%d notices, the rest in a digest", r.Limit.Notices))
	}
	explainNotice(r, add)
	var sinks []string
	for _, d := range r.Deliver {
		sinks = append(sinks, d.String())
	}
	add("deliver", strings.Join(sinks, "; "))
	return list
}

func explainNotice(r *rules.Rule, add func(name, value string)) {
	n := r.Notice
	warehouse := n.Warehouse
	if warehouse == "" {
		warehouse = strconv.Quote(r.Scope) + ", the scope's name"
	}
	add("notice.type", n.Type)
	add("notice.warehouse", warehouse)
	add("notice.priority", cmp.Or(n.Priority, strconv.Itoa(notice.DefaultPriority)))
	add("notice.modal", string(cmp.Or(n.Modal, rules.ModalSilent)))
	if n.Fields == nil {
		add("notice.fields", "the columns that the type names")
	}
	for _, name := range slices.Sorted(maps.Keys(n.Fields)) {
		add("notice.fields."+name, n.Fields[name])
	}
	add("notice.expires", duration(n.Expires, "as the type says"))
	if r.Mode == rules.ModeState {
		add("notice.send_resolved", strconv.FormatBool(n.SendResolved))
	}
}

// duration writes a duration, and zero as it is called here.
func duration(d time.Duration, zero string) string {
	if d == 0 {
		return zero
	}
	return strictyaml.FormatDuration(d)
}
