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
	Version  int                `yaml:"version,required" min:"1" max:"1" doc:"The version of the rule language: 1."`
	Defaults *strictyaml.Node   `yaml:"defaults" doc:"Fields of every rule in this file. A rule may set them itself."`
	Rules    []*strictyaml.Node `yaml:"rules,required" doc:"The rules of this file."`
}

type ruleSpec struct {
	ID             string            `yaml:"id" doc:"The id of the rule, unique in all files: lower-case letters, digits and -. The findings belong to the id. A change of other fields keeps them."`
	Title          string            `yaml:"title" doc:"The name of the rule, for people."`
	Description    string            `yaml:"description" text:"lines" doc:"The purpose of the rule, for people."`
	Owner          string            `yaml:"owner" doc:"The person or team that maintains the rule."`
	RunbookURL     string            `yaml:"runbook_url" doc:"The web address of the page that says what to do."`
	Labels         map[string]string `yaml:"labels" doc:"Texts by name. Every notice of the rule has these labels and the labels of its type."`
	Enabled        bool              `yaml:"enabled" doc:"false: the rule does not run. Its findings stay as they are."`
	Mode           string            `yaml:"mode" enum:"state,event" doc:"state: the probe returns the rows that are wrong now. A finding resolves when its row is gone. event: every new row makes one notice. No finding resolves."`
	Shadow         bool              `yaml:"shadow" doc:"true: the rule runs and keeps its findings, but its notices go only to the inbox shadow:<rule id>, until the rule is promoted."`
	Schedule       scheduleSpec      `yaml:"schedule" doc:"When the rule runs."`
	Scopes         scopesSpec        `yaml:"scopes" doc:"The warehouses or other slices for which the rule runs. Each scope has its own findings. Write a list, or {source: …, sql: …, every: 5m}: a query whose rows are the scopes."`
	SplitBy        string            `yaml:"split_by" doc:"A column that has the name of the scope. The probe runs once for all scopes with the same schedule and parameters. Each scope gets its rows."`
	Source         string            `yaml:"source" doc:"The database that the probe reads: a name under sources in the configuration."`
	Probe          probeSpec         `yaml:"probe" doc:"The SQL statement that reads the rows, and its limits."`
	Per            string            `yaml:"per" enum:"row,result" doc:"row: each row that meets the condition is a finding. result: all rows together are at most one finding. The condition then sees rows and row_count."`
	When           exprText          `yaml:"when" text:"lines" doc:"The condition, an expression such as: qty < 0 and not (sku startsWith \"TEST-\"). NULL does not match."`
	Key            []string          `yaml:"key" doc:"The columns that tell one finding from another."`
	GroupBy        []string          `yaml:"group_by" doc:"Columns. Findings with the same values in these columns share one notice."`
	For            time.Duration     `yaml:"for" max:"365d" doc:"How long a finding must last before it makes a notice."`
	KeepFiringFor  time.Duration     `yaml:"keep_firing_for" max:"365d" doc:"How long the row of a finding must be gone before the finding resolves. The time counts from the first run without the row."`
	RepeatInterval time.Duration     `yaml:"repeat_interval" min:"1s" max:"365d" doc:"A finding that lasts makes another notice after this time."`
	NotifyAgainOn  []string          `yaml:"notify_again_on" doc:"Columns. A firing finding makes another notice when the value of one of these columns changes."`
	FirstRun       string            `yaml:"first_run" enum:"notify,baseline" doc:"What the first run does with the rows that it reads. notify: it makes notices of them. baseline: it takes them as known, without notices."`
	NoData         string            `yaml:"no_data" enum:"ok,keep_last,alert" doc:"What happens when the probe returns no rows. ok: the findings resolve. keep_last: the findings stay. alert: the findings stay, and the rule makes a notice of the missing rows."`
	OnError        onErrorSpec       `yaml:"on_error" doc:"What happens when a run fails. keep_last: the findings stay. alert: the findings stay, and the rule makes a notice of the failure, or of rows that cannot be judged. {alert: 10%} or {alert: 5}: a notice of such rows needs at least this share or number of them."`
	Limit          limitSpec         `yaml:"limit" doc:"The most notices that one run makes. One digest covers the other findings."`
	Notice         noticeSpec        `yaml:"notice" doc:"The notice that a finding makes."`
	Deliver        []deliverSpec     `yaml:"deliver" doc:"The sinks to which the notices go. By default the sinks of the type."`
}

type scheduleSpec struct {
	Cron     string        `yaml:"cron" doc:"5 fields (minute hour day month weekday), 6 with seconds first, or @every 30s, @hourly, @daily …"`
	Timezone string        `yaml:"timezone" doc:"The time zone of the cron: an IANA name such as Asia/Shanghai."`
	Jitter   time.Duration `yaml:"jitter" max:"1h" doc:"The longest delay after the due time. Each rule and scope always has the same delay, so that rules do not all start at once. By default a tenth of the shortest interval, at most 30s. 0: no delay."`
	Overlap  string        `yaml:"overlap" enum:"skip,queue" doc:"What happens to a firing while the previous run still goes on. skip: the firing is skipped. queue: one firing waits."`
	CatchUp  string        `yaml:"catch_up" enum:"none,once,all" doc:"Which firings run later, if no node ran at their due time. none: no firing. once: the latest. all: every firing, at most 100."`
}

type scopeSpec struct {
	Name      string           `yaml:"name,required" doc:"The name of the scope: a warehouse. Quote numbers."`
	Timezone  string           `yaml:"timezone" doc:"The timezone of the schedule in this scope."`
	Params    Scalars          `yaml:"params" text:"lines" doc:"Values for the :name parameters of the probe in this scope."`
	Overrides *strictyaml.Node `yaml:"overrides" doc:"Fields that differ in this scope. All fields are possible except id, mode, key, per, scopes and split_by."`
}

type probeSpec struct {
	SQL       string                `yaml:"sql" text:"lines" doc:"One SELECT. :name is a parameter. The parameters :now, :scheduled_at, :last_run_at and :scope are built in."`
	Params    Scalars               `yaml:"params" text:"lines" doc:"Values for the :name parameters of the SQL."`
	Timeout   time.Duration         `yaml:"timeout" min:"0.001s" max:"1h" doc:"How long the statement may take."`
	MaxRows   int                   `yaml:"max_rows" min:"1" max:"10000000" doc:"The most rows that the probe may return. With more rows the run fails. In mode event the run reads the other rows at once in another pass."`
	MaxCost   int                   `yaml:"max_cost" min:"1" doc:"The highest total cost in the database's query plan. A rule whose probe costs more does not run."`
	Columns   map[string]columnSpec `yaml:"columns" doc:"The types of columns of the probe that the database declares as another type, such as a time in a text column."`
	Watermark watermarkSpec         `yaml:"watermark" doc:"Mode event: the columns by which the probe returns only new rows."`
}

type columnSpec struct {
	Type     string `yaml:"type" enum:"time,date,decimal,bool,unix_seconds,unix_milliseconds" doc:"The type of the column's values."`
	Format   string `yaml:"format" doc:"For time and date: the time 2006-01-02 15:04:05 as the column writes it, such as \"2006-01-02T15:04:05Z\"."`
	Timezone string `yaml:"timezone" doc:"For time: an IANA name such as Asia/Shanghai, or an offset such as +08:00. By default UTC."`
}

type watermarkSpec struct {
	Columns []string      `yaml:"columns,required" doc:"Columns of the probe whose values grow with every new row. :wm_<column> has the value up to which the last run has read."`
	Initial Scalars       `yaml:"initial" text:"lines" doc:"For each column, the value after which the first run begins to read. For a time also a duration before the first run, such as \"-1h\"."`
	Lag     time.Duration `yaml:"lag" max:"1d" doc:":until is the due time minus this duration, so that the watermark does not pass rows of transactions that commit late."`
	// LookBack is nil where the file does not have the field.
	LookBack *lookBackSpec `yaml:"look_back" doc:"How far below the watermark each run reads again, for rows of transactions that commit late. A duration such as 10m, or a difference of the first column's numbers, such as 5000. 0: nothing is read again. No row is judged twice. By default 5m if the first column's initial value is a number, else 0."`
}

type limitSpec struct {
	Notices  int    `yaml:"notices" min:"1" doc:"How many findings of a run get their own notice. One digest covers the other findings."`
	OnExceed string `yaml:"on_exceed" enum:"digest" doc:"digest: one notice for the other findings, with their number and some samples."`
}

type noticeSpec struct {
	Type         string              `yaml:"type" doc:"The code of a type in the catalogue."`
	Warehouse    exprText            `yaml:"warehouse" text:"lines" doc:"The warehouse whose inboxes get the notice: an expression such as wh_id. By default the name of the scope."`
	Priority     exprText            `yaml:"priority" text:"lines" doc:"1 (low) to 5 (high): a number, or an expression such as qty < -100 ? 5 : 3. By default the priority of the type, else 3."`
	Order        exprText            `yaml:"order" text:"lines" doc:"The place of the notice's item among items of the same priority. Queues serve the lowest value first. A number, a time, or an expression such as cut_off or -qty. By default the time when the item becomes ready."`
	Modal        string              `yaml:"modal" enum:"silent,popup" doc:"How a client shows the notice: silent or popup. By default as the type says, else silent."`
	Title        message.Texts       `yaml:"title" text:"lines" doc:"The title, one line: a template such as \"Bin {{ .bin_code }} is at {{ .qty }}\", or a template for each language: {en: …, zh: …}. By default the title of the type."`
	Body         message.Texts       `yaml:"body" text:"lines" doc:"The text: a template, or a template for each language. By default the body of the type."`
	Fields       map[string]exprText `yaml:"fields" text:"lines" doc:"The typed data: an expression for each field of the type. By default each field has the value of the column with the same name."`
	Expires      time.Duration       `yaml:"expires" min:"1s" max:"3650d" doc:"The time after which the notice expires. By default the type's retention."`
	SendResolved bool                `yaml:"send_resolved" doc:"true: a finding that resolves makes a notice as well."`
}

type deliverSpec struct {
	deliver.Spec
	At   exprText `yaml:"at" text:"lines" doc:"delayed: the time of the first attempt, instead of delay. An expression such as released_at + duration(\"10m\"). NULL: the first attempt is made at once."`
	When exprText `yaml:"when" text:"lines" doc:"A condition. Only notices whose row meets the condition go to this sink. NULL does not match."`
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
