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
	Paths   []string // Rule files or folders. nil means the paths of the configuration.
	Live    bool     // Prepare each probe on its source, and compile the rule against the columns.
	Explain bool     // Explain each rule that has loaded, also a rule that its source refuses.
	Strict  bool     // Treat lints as problems.
}

// Checked is the result of Check.
type Checked struct {
	Files     int
	Rules     int          // How many rules are sound, each scope counted.
	Problems  problem.List // Sorted by place.
	Warnings  problem.List // What could not be checked, and why.
	Lints     problem.List // Sound rules that probably do not do what their author meant.
	Notes     problem.List // Useful facts about sound rules.
	Explained []Explained  // Sorted by rule and scope.
}

// Check reads rule files. With a configuration, it checks them against the sources, sinks and catalogue. With o.Live it
// also asks the databases. The configuration may have been loaded lazily: Check needs only the secrets of sources that
// it asks.
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

// lint returns the warnings about a sound rule. Warnings about its columns need columns that are known.
func lint(c *ruleCheck) problem.List {
	l := rules.Lint(c.rule)
	if c.columns != nil {
		l = append(l, rules.LintColumns(c.rule, c.columns)...)
	}
	return append(l, c.lints...)
}

// addLive takes over the problems, warnings, lints and notes of the checks on the sources.
func (c *Checked) addLive(said sourceFindings) {
	c.Problems = rules.Tidy(append(c.Problems, said.problems...))
	c.Warnings = rules.Tidy(said.warnings)
	c.Lints, c.Notes = said.lints, said.notes
}

// nextFirings is how many due times an explained rule shows.
const nextFirings = 5

// Explained describes a rule in one scope completely, with all defaults.
type Explained struct {
	Rule       string            `json:"rule"`
	Scope      string            `json:"scope"`
	File       string            `json:"file"`
	Source     string            `json:"source"`
	Unverified string            `json:"unverified,omitempty"` // Why the columns are not known or do not fit.
	Columns    []ExplainedColumn `json:"columns"`
	Params     []ExplainedParam  `json:"params"`
	Cost       *float64          `json:"cost,omitempty"` // The cost of the probe, where the source tells it.
	Plan       string            `json:"plan,omitempty"`
	Next       []time.Time       `json:"next"`   // The next due times, in the rule's timezone.
	Fields     []ExplainedField  `json:"fields"` // The values in force, in the order of the rule reference.
}

// ExplainedColumn is a column that the probe returns.
type ExplainedColumn struct {
	Name         string   `json:"name"`
	Kind         string   `json:"kind"`         // The kind that conditions see.
	DatabaseType string   `json:"databaseType"` // The database's name of the type.
	Nullable     bool     `json:"nullable"`     // False only where the database says NOT NULL.
	Uses         []string `json:"uses"`         // The fields of the rule that read the column.
}

// ExplainedParam is a parameter of the probe.
type ExplainedParam struct {
	Name  string `json:"name"`
	Value any    `json:"value"` // null for most built-in parameters.
	From  string `json:"from"`  // What a built-in parameter is. Empty where the rule gives the value.
}

// ExplainedField is a field of a rule and its value in force.
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
		zone, _ := time.LoadLocation(r.Schedule.Timezone) // the schedule has loaded the zone, so there is no error
		for at := s.Next(now); len(e.Next) < nextFirings && !at.IsZero(); at = s.Next(at) {
			e.Next = append(e.Next, at.In(zone))
		}
	}
	return e
}

// builtInParams describes the parameters that every probe may use.
var builtInParams = map[string]string{
	"now": "the time of the run", "scheduled_at": "the firing's due time", "last_run_at": "the due time of the last good run",
	"scope": "the scope's name", "until": "the due time less the watermark's lag",
}

func explainParams(r *rules.Rule) []ExplainedParam {
	list := []ExplainedParam{}
	stmt, _ := r.Probe.Statement() // no faults, because the rule has loaded
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

// explainFields lists the values in force, without the values that other parts of an explanation show.
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

// duration writes a duration. For 0 it returns the text zero.
func duration(d time.Duration, zero string) string {
	if d == 0 {
		return zero
	}
	return strictyaml.FormatDuration(d)
}
