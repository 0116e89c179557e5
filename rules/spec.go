package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tallyman/rules/deliver"
	"tallyman/rules/jsonschema"
	"tallyman/rules/message"
	"tallyman/rules/strictyaml"
)

// The types below are the shapes of a rule file. newSpec holds the defaults, and ruleOf makes a Rule. The JSON Schema
// comes from the same tags; an editor shows the tag doc.

type fileSpec struct {
	Version  int                `yaml:"version,required" min:"1" max:"1" doc:"The version of the language: 1."`
	Defaults *strictyaml.Node   `yaml:"defaults" doc:"Fields that every rule of this file has unless it says otherwise."`
	Rules    []*strictyaml.Node `yaml:"rules,required" doc:"The rules."`
}

type ruleSpec struct {
	ID             string            `yaml:"id" doc:"Identity for life, unique over all files: lower-case letters, digits and -. Editing anything else keeps the findings."`
	Title          string            `yaml:"title" doc:"What the rule is called, for people."`
	Description    string            `yaml:"description" text:"lines" doc:"Why the rule is there, for people."`
	Owner          string            `yaml:"owner" doc:"Who looks after the rule."`
	RunbookURL     string            `yaml:"runbook_url" doc:"A web address that says what to do."`
	Labels         map[string]string `yaml:"labels" doc:"Texts by name, carried by every notice beside the labels of the type."`
	Enabled        bool              `yaml:"enabled" doc:"false: it does not run, and its findings stay as they are."`
	Mode           string            `yaml:"mode" enum:"state,event" doc:"state: the probe returns what is wrong now; a finding whose row is gone resolves. event: every new row is one notice, nothing resolves."`
	Shadow         bool              `yaml:"shadow" doc:"true: it runs and keeps its findings, but tells only an inbox of its own, until it is promoted."`
	Schedule       scheduleSpec      `yaml:"schedule" doc:"When it looks."`
	Scopes         scopesSpec        `yaml:"scopes" doc:"The warehouses, or other slices, that it runs for, each with findings of its own: a list, or {source: …, sql: …, every: 5m}, a query whose rows are the scopes."`
	SplitBy        string            `yaml:"split_by" doc:"A column with the name of a scope: the probe runs once for all scopes that share schedule and parameters, and each scope gets its rows."`
	Source         string            `yaml:"source" doc:"The database to ask: a name under sources in the configuration."`
	Probe          probeSpec         `yaml:"probe" doc:"What to ask."`
	Per            string            `yaml:"per" enum:"row,result" doc:"row: each row that meets the condition is a finding. result: the result as a whole is one; the condition sees rows and row_count."`
	When           exprText          `yaml:"when" text:"lines" doc:"The condition, an expression such as: qty < 0 and not (sku startsWith \"TEST-\"). NULL does not match."`
	Key            []string          `yaml:"key" doc:"The columns that tell one finding from another."`
	GroupBy        []string          `yaml:"group_by" doc:"One notice for all findings that are alike in these columns."`
	For            time.Duration     `yaml:"for" max:"365d" doc:"How long a finding must last before it is told."`
	KeepFiringFor  time.Duration     `yaml:"keep_firing_for" max:"365d" doc:"How long a finding must be gone before it is resolved, counted from the first run without it."`
	RepeatInterval time.Duration     `yaml:"repeat_interval" min:"1s" max:"365d" doc:"Tell a finding that lasts again after this time."`
	NotifyAgainOn  []string          `yaml:"notify_again_on" doc:"Columns: tell a firing finding again when one of them changes."`
	FirstRun       string            `yaml:"first_run" enum:"notify,baseline" doc:"What the first run makes of the rows that it sees. notify: it tells them. baseline: they are known, and it tells nothing of them."`
	NoData         string            `yaml:"no_data" enum:"ok,keep_last,alert" doc:"What a probe without rows means. ok: its findings resolve. keep_last: they stay. alert: they stay, and it is told."`
	OnError        onErrorSpec       `yaml:"on_error" doc:"What a failed run means. keep_last: findings stay. alert: they stay, and it is told, as are rows that cannot be judged; alert: 10% or alert: 5 tells of those from that share or number on."`
	Limit          limitSpec         `yaml:"limit" doc:"Bounds the notices of one run; the rest is told in a digest."`
	Notice         noticeSpec        `yaml:"notice" doc:"What is said."`
	Deliver        []deliverSpec     `yaml:"deliver" doc:"Where the notices go; by default as the type says."`
}

type scheduleSpec struct {
	Cron     string        `yaml:"cron" doc:"5 fields (minute hour day month weekday), 6 with seconds first, or @every 30s, @hourly, @daily …"`
	Timezone string        `yaml:"timezone" doc:"An IANA name such as Asia/Shanghai, that the cron follows."`
	Jitter   time.Duration `yaml:"jitter" max:"1h" doc:"Spreads rules over this time, by default a tenth of the shortest interval and at most 30s; 0 is off. The same rule and scope always get the same delay."`
	Overlap  string        `yaml:"overlap" enum:"skip,queue" doc:"When the run before still goes. skip: this one is left out. queue: one waits."`
	CatchUp  string        `yaml:"catch_up" enum:"none,once,all" doc:"Firings missed while no node ran. none: dropped. once: the latest is made good. all: each, at most 100."`
}

type scopeSpec struct {
	Name      string           `yaml:"name,required" doc:"The name of the scope: a warehouse. Quote numbers."`
	Timezone  string           `yaml:"timezone" doc:"The timezone of the schedule in this scope."`
	Params    Scalars          `yaml:"params" text:"lines" doc:"Values for the :name parameters of the probe in this scope."`
	Overrides *strictyaml.Node `yaml:"overrides" doc:"Fields that differ in this scope: any but id, mode, key, per, scopes and split_by."`
}

type probeSpec struct {
	SQL       string                `yaml:"sql" text:"lines" doc:"One SELECT. :name is a parameter; :now, :scheduled_at, :last_run_at and :scope are built in."`
	Params    Scalars               `yaml:"params" text:"lines" doc:"Values for the :name parameters of the SQL."`
	Timeout   time.Duration         `yaml:"timeout" min:"0.001s" max:"1h" doc:"How long the statement may take."`
	MaxRows   int                   `yaml:"max_rows" min:"1" max:"10000000" doc:"One row more and the run fails (mode event: it goes on at once with the rest)."`
	MaxCost   int                   `yaml:"max_cost" min:"1" doc:"Total cost by the database's plan above which the rule does not run."`
	Columns   map[string]columnSpec `yaml:"columns" doc:"What columns of the probe hold, where that is something else than the database says, such as times in texts."`
	Watermark watermarkSpec         `yaml:"watermark" doc:"Mode event: what lets the probe return new rows only."`
}

type columnSpec struct {
	Type     string `yaml:"type" enum:"time,date,decimal,bool,unix_seconds,unix_milliseconds" doc:"What the column holds."`
	Format   string `yaml:"format" doc:"Of time and date: how the column writes the time 2006-01-02 15:04:05, as \"2006-01-02T15:04:05Z\"."`
	Timezone string `yaml:"timezone" doc:"Of time: an IANA name such as Asia/Shanghai, or an offset such as +08:00; by default UTC."`
}

type watermarkSpec struct {
	Columns []string      `yaml:"columns,required" doc:"Columns of the probe that grow with every new row; :wm_<column> holds those of the last run."`
	Initial Scalars       `yaml:"initial" text:"lines" doc:"What the first run begins after, for each column; for a time a duration before it, as \"-1h\"."`
	Lag     time.Duration `yaml:"lag" max:"1d" doc:":until is the due time less this, so that rows of transactions that commit late are not overtaken."`
	// LookBack is nil where nothing is written.
	LookBack *lookBackSpec `yaml:"look_back" doc:"How far below the watermark each run reads again, for rows of transactions that commit late: a duration such as 10m, or so many numbers of the first column; 0 is not at all. Rows that a run has seen are not judged again. By default 5m where the watermark begins with a number, else not at all."`
}

type limitSpec struct {
	Notices  int    `yaml:"notices" min:"1" doc:"So many findings are notices of their own; the rest is told in a digest."`
	OnExceed string `yaml:"on_exceed" enum:"digest" doc:"digest: one notice for the rest, with their number and samples."`
}

type noticeSpec struct {
	Type         string              `yaml:"type" doc:"The code of a type in the catalogue."`
	Warehouse    exprText            `yaml:"warehouse" text:"lines" doc:"The warehouse whose inboxes get it, an expression such as wh_id; by default the name of the scope."`
	Priority     exprText            `yaml:"priority" text:"lines" doc:"1 (low) to 5 (high), a number or an expression such as: qty < -100 ? 5 : 3; by default that of the type, else 3."`
	Order        exprText            `yaml:"order" text:"lines" doc:"In which order queues serve what is made of it, inside the priority: the lowest first. A number or a time, or an expression such as cut_off or -qty; by default the time when it becomes ready."`
	Modal        string              `yaml:"modal" enum:"silent,popup" doc:"silent, or popup: how a client shows it; by default as the type says, else silent."`
	Title        message.Texts       `yaml:"title" text:"lines" doc:"One line: a template such as \"Bin {{ .bin_code }} is at {{ .qty }}\", or one for each language: {en: …, zh: …}; by default the title of the type."`
	Body         message.Texts       `yaml:"body" text:"lines" doc:"The text: a template, or one for each language; by default the body of the type."`
	Fields       map[string]exprText `yaml:"fields" text:"lines" doc:"The typed data: an expression for each field of the type. By default the columns that have the fields' names."`
	Expires      time.Duration       `yaml:"expires" min:"1s" max:"3650d" doc:"How long it lives; by default the type's retention."`
	SendResolved bool                `yaml:"send_resolved" doc:"Tell as well when the finding is over."`
}

type deliverSpec struct {
	deliver.Spec
	At   exprText `yaml:"at" text:"lines" doc:"delayed: the time of the first attempt instead of delay, an expression such as: released_at + duration(\"10m\"); NULL is at once."`
	When exprText `yaml:"when" text:"lines" doc:"Only notices whose row meets this condition go to this sink. NULL does not match."`
}

// exprText is an expression. A number or a boolean without quotes is an expression as well.
type exprText string

// DecodeYAML implements strictyaml.Decodable.
func (e *exprText) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	if n.Kind == strictyaml.Scalar && (n.Tag == "!!int" || n.Tag == "!!float" || n.Tag == "!!bool") {
		if _, ok := d.Any(name, n); ok {
			*e = exprText(n.Text)
		}
		return
	}
	if s, ok := d.Text(name, n); ok {
		*e = exprText(s)
	}
}

// onErrorSpec is the written form of on_error: keep_last, alert, or alert with the limit of unjudged rows.
type onErrorSpec struct {
	Policy   Policy
	Unjudged Unjudged
}

// DecodeYAML implements strictyaml.Decodable.
func (o *onErrorSpec) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	const want = "keep_last, alert, or {alert: 10%}: a share of the rows from 1% to 100%, or a number of rows from 1 on"
	*o = onErrorSpec{}
	if n.Kind != strictyaml.Mapping {
		text, ok := d.Text(name, n)
		if o.Policy = Policy(text); ok && o.Policy != PolicyKeepLast && o.Policy != PolicyAlert {
			d.Fail(n, strictyaml.CodeEnum, fmt.Sprintf("%s is %q", name, text), want)
		}
		return
	}
	fields := map[string]*strictyaml.Node{}
	d.Value(name, n, &fields)
	value := fields["alert"]
	if len(fields) != 1 || value == nil || value.Kind != strictyaml.Scalar {
		d.Fail(n, strictyaml.CodeEnum, name+" takes alert alone, with a share or a number", want)
		return
	}
	digits, share := strings.CutSuffix(value.Text, "%")
	count, err := strconv.Atoi(digits)
	if err != nil || count < 1 || share && count > 100 || strconv.Itoa(count) != digits {
		d.Fail(value, strictyaml.CodeEnum, fmt.Sprintf("%s.alert is %q", name, value.Text), want)
		return
	}
	o.Policy = PolicyAlert
	if share {
		o.Unjudged.Percent = count
	} else {
		o.Unjudged.Rows = count
	}
}

// Scalars is a map of single values: string, int64, float64, bool or nil.
type Scalars map[string]any

// DecodeYAML implements strictyaml.Decodable.
func (s *Scalars) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	nodes := map[string]*strictyaml.Node{}
	d.Value(name, n, &nodes)
	*s = Scalars{}
	for key, value := range nodes {
		if v, ok := d.Any(name+"."+key, value); ok {
			(*s)[key] = v
		}
	}
}

// newSpec returns a spec with the default of every field that has one. Decoding keeps the defaults of fields that the
// file does not have.
func newSpec() *ruleSpec {
	return &ruleSpec{
		Enabled:  true,
		Mode:     string(ModeState),
		Schedule: scheduleSpec{Timezone: "UTC", Overlap: string(OverlapSkip), CatchUp: string(CatchUpOnce)},
		Probe:    probeSpec{Timeout: 10 * time.Second, MaxRows: 10_000},
		Per:      "row",
		When:     "true",
		FirstRun: string(FirstRunNotify),
		NoData:   string(PolicyOK),
		OnError:  onErrorSpec{Policy: PolicyKeepLast},
	}
}

// ruleOf makes the Rule that a complete spec describes.
func ruleOf(s *ruleSpec, scope string) *Rule {
	r := &Rule{
		ID: s.ID, Scope: scope, Title: s.Title, Description: s.Description, Owner: s.Owner, RunbookURL: s.RunbookURL,
		Labels: s.Labels, Enabled: s.Enabled, Mode: Mode(s.Mode), Shadow: s.Shadow,
		Schedule: Schedule{
			Cron: s.Schedule.Cron, Timezone: s.Schedule.Timezone, Jitter: s.Schedule.Jitter,
			Overlap: Overlap(s.Schedule.Overlap), CatchUp: CatchUp(s.Schedule.CatchUp),
		},
		Source: s.Source,
		Probe:  Probe{SQL: s.Probe.SQL, Params: s.Probe.Params, Timeout: s.Probe.Timeout, MaxRows: s.Probe.MaxRows, MaxCost: s.Probe.MaxCost},
		Per:    Per(s.Per), When: string(s.When), Key: s.Key, GroupBy: s.GroupBy, SplitBy: s.SplitBy,
		For: s.For, KeepFiringFor: s.KeepFiringFor, RepeatInterval: s.RepeatInterval, NotifyAgainOn: s.NotifyAgainOn,
		FirstRun: FirstRun(s.FirstRun), NoData: Policy(s.NoData), OnError: s.OnError.Policy, Unjudged: s.OnError.Unjudged, Limit: Limit{Notices: s.Limit.Notices},
		Notice: Notice{
			Type: s.Notice.Type, Warehouse: string(s.Notice.Warehouse), Priority: string(s.Notice.Priority), Order: string(s.Notice.Order),
			Modal: Modal(s.Notice.Modal), Title: s.Notice.Title, Body: s.Notice.Body,
			Expires: s.Notice.Expires, SendResolved: s.Notice.SendResolved,
		},
	}
	for name, c := range s.Probe.Columns {
		if r.Probe.Columns == nil {
			r.Probe.Columns = map[string]Column{}
		}
		r.Probe.Columns[name] = Column(c)
	}
	if w := s.Probe.Watermark; w.Columns != nil {
		r.Probe.Watermark = &Watermark{Columns: w.Columns, Initial: w.Initial, Lag: w.Lag, LookBack: (*LookBack)(w.LookBack)}
	}
	if s.Notice.Fields != nil {
		r.Notice.Fields = map[string]string{}
		for name, expr := range s.Notice.Fields {
			r.Notice.Fields[name] = string(expr)
		}
	}
	for _, d := range s.Deliver {
		entry := d.Entry()
		entry.At, entry.When = string(d.At), string(d.When)
		r.Deliver = append(r.Deliver, entry)
	}
	return r
}

// checksum covers the meaning of the rule. It leaves out where the rule is written, and how.
func checksum(r *Rule) string {
	meaning := *r
	meaning.File, meaning.Checksum = "", ""
	text, err := json.Marshal(meaning) // maps in order of their keys
	if err != nil {
		panic(fmt.Sprintf("rules: a rule holds what JSON cannot: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Schema returns the JSON Schema of a rule file. It is made from the types that decode the file, so it knows shapes and
// spellings only. Load, Check and Compile check what fits together.
func Schema() ([]byte, error) {
	file := jsonschema.Of(fileSpec{})
	file.Schema, file.Title = jsonschema.Draft, "A Tallyman rule file"

	rule := jsonschema.Of(newSpec())
	rule.Required = []string{"id"}
	rule.Properties.Get("id").Pattern = ruleID.String()
	rule.Properties.Get("labels").PropertyNames = &jsonschema.Schema{Pattern: plainName.String()}
	scope := rule.Properties.Get("scopes").Items
	scope.Properties.Get("name").Pattern = plainName.String()

	file.Definitions = map[string]*jsonschema.Schema{"rule": rule}
	file.Properties.Get("rules").Items = &jsonschema.Schema{Ref: "#/definitions/rule"}
	takeSome(file.Properties.Get("defaults"), rule, "id")
	takeSome(scope.Properties.Get("overrides"), rule, fixedFields...)
	return file.Text()
}

// takeSome makes s an object with the fields of the rule, without the fields in less.
func takeSome(s, rule *jsonschema.Schema, less ...string) {
	s.Type, s.AdditionalProperties = rule.Type, jsonschema.Nothing()
	for _, f := range rule.Properties {
		if !slices.Contains(less, f.Name) {
			s.Properties = append(s.Properties, jsonschema.Property{Name: f.Name, Schema: &jsonschema.Schema{Ref: "#/definitions/rule/properties/" + f.Name}})
		}
	}
}

// JSONSchema implements jsonschema.Schemer.
func (*exprText) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: jsonschema.Types{"string", "number", "boolean"}}
}

// JSONSchema implements jsonschema.Schemer.
func (*onErrorSpec) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: jsonschema.Types{"string", "object"}, Default: string(PolicyKeepLast), Pattern: "^(keep_last|alert)$", MinProperties: 1, PropertyNames: &jsonschema.Schema{Pattern: "^alert$"},
		AdditionalProperties: &jsonschema.Schema{Type: jsonschema.Types{"string", "integer"}, Pattern: "^([1-9][0-9]?|100)%$|^[1-9][0-9]*$"},
	}
}

// JSONSchema implements jsonschema.Schemer.
func (*Scalars) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: jsonschema.Types{"object"}, AdditionalProperties: &jsonschema.Schema{Type: jsonschema.Types{"string", "number", "boolean", "null"}},
	}
}
