package config

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/settings"
	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
	"tallyman/scanners"
	"tallyman/sinks"
)

// The codes of problems of a configuration.
const (
	CodeNotAvailable  = "not_available" // Tallyman does not have the feature.
	CodeSubscriber    = "bad_subscriber"
	CodeUnknownSource = "unknown_source"
	CodeInboxes       = "several_inboxes" // A configuration may have one inbox.
	CodeTimezone      = "bad_timezone"
	CodeURL           = settings.CodeURL
	CodeName          = settings.CodeName
)

// Secret is a text that must never be shown or logged.
type Secret = settings.Secret

// NewSecret hides the text.
func NewSecret(text string) Secret { return settings.NewSecret(text) }

// Types are the known types of sinks and drivers of sources.
type Types struct {
	Sinks   []sinks.Type
	Drivers []scanners.Driver
}

// Config is a whole configuration. A Config from Load is checked and can be used as it is.
type Config struct {
	File          string            `yaml:"-"` // The absolute path of the file that was read.
	Node          Node              `yaml:"node" doc:"The node itself."`
	HTTP          HTTP              `yaml:"http" doc:"Where the API listens, and how the API serves its callers."`
	Auth          Auth              `yaml:"auth" doc:"Who may call the API."`
	Redis         Redis             `yaml:"redis" doc:"The Redis with the inboxes and the queues."`
	Ledger        Ledger            `yaml:"ledger" doc:"Tallyman's own database."`
	Rules         Rules             `yaml:"rules" doc:"Where the rule files are."`
	Types         Catalogue         `yaml:"types" doc:"Where the type catalogue is."`
	Sources       map[string]Source `yaml:"sources" doc:"The databases that probes read, by name. Rules name a source by its key."`
	Sinks         Sinks             `yaml:"sinks" doc:"Where notices go, by name. Rules name a sink by its key. The default is one sink: inbox, of type inbox."`
	Telemetry     Telemetry         `yaml:"telemetry" doc:"What the node says about itself: log, metrics, traces."`
	Subscriptions Subscriptions     `yaml:"subscriptions" doc:"Who gets what. A list counts at the first start only; afterwards the ledger has the subscriptions. The query of a source is asked again and again."`

	open      openValues // The values that a lazy load could not read.
	places    *loader    // Nil where no file was read.
	pushTypes []string
}

// PushTypes returns the names of the known types of push channels, in the order of Types.Sinks.
func (c *Config) PushTypes() []string { return c.pushTypes }

// Rules says where the rule files are.
type Rules struct {
	Paths []string `yaml:"paths" doc:"Files, or folders whose *.yaml files are read. Rule tests in the folders are left out."` // absolute
}

// Catalogue says where the type catalogue is.
type Catalogue struct {
	Path string `yaml:"path" doc:"The file with the type catalogue. At the start, the node adds the types that the ledger does not have."` // absolute
}

// Subscriptions is a list of subscriptions, or a query that lists them.
type Subscriptions struct {
	Seed []Subscription     // Added to a ledger that has never had any subscriptions.
	From *SubscriptionQuery // Nil means no source lists subscriptions.
}

// SubscriptionQuery is a query whose result the ledger's subscriptions follow.
type SubscriptionQuery struct {
	Source string        `yaml:"source,required" doc:"The source whose table lists the subscriptions."`
	SQL    string        `yaml:"sql,required" text:"lines" doc:"The query. Its columns are subscriber, type and warehouse."`
	Every  time.Duration `yaml:"every" min:"10s" max:"24h" doc:"The time between two queries."`
}

// SetDefaults sets the defaults of a query.
func (q *SubscriptionQuery) SetDefaults() { q.Every = time.Minute }

// Takes says what subscriptions may be.
func (s *Subscriptions) Takes() string {
	return strictyaml.MapWords + " of a query, or a list of subscriptions"
}

// DecodeYAML reads a list of subscriptions, or the map of a query.
func (s *Subscriptions) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	if n.Kind != strictyaml.Mapping {
		d.Value(name, n, &s.Seed)
		return
	}
	d.Value(name, n, &s.From)
}

// check checks that the query's source exists.
func (s *Subscriptions) check(at settings.Section, sources map[string]Source) {
	if s.From == nil || s.From.Source == "" {
		return
	}
	if _, found := sources[s.From.Source]; !found {
		names := slices.Sorted(maps.Keys(sources))
		at.In("source").Fail(CodeUnknownSource, fmt.Sprintf("%s.source: there is no source %q", at, s.From.Source), cmp.Or(problem.DidYouMean(s.From.Source, names), "sources: "+strings.Join(names, ", ")))
	}
}

// Subscription says that a subscriber gets notices of a type in a warehouse, or with "*" in every warehouse.
type Subscription struct {
	Type       string `yaml:"type" doc:"The code of a type."`
	Warehouse  string `yaml:"warehouse" doc:"A warehouse, or \"*\" for all."`
	Subscriber string `yaml:"subscriber" doc:"Who subscribes: user:<id> or role:<id>."`
}

// Default returns a configuration with the default of every setting.
func Default(t Types) Config {
	c := Config{
		Node:   Node{Lease: 4 * time.Second},
		HTTP:   defaultHTTP(),
		Auth:   Auth{Mode: AuthNone},
		Redis:  Redis{URL: RedisURL{URLs: []Secret{NewSecret(Embedded)}}, Prefix: "tallyman:"},
		Ledger: Ledger{URL: NewSecret(defaultLedger), Retention: 90 * 24 * time.Hour},
		Rules:  Rules{Paths: []string{"rules"}},
		Types:  Catalogue{Path: "types.yaml"},
		Sinks:  Sinks{},

		Telemetry: Telemetry{Log: Log{Format: LogText, Level: "info"}, Metrics: Metrics{MaxRules: 2000}, Traces: Traces{Sample: 1}},
	}
	for _, typ := range t.Sinks {
		switch s := typ.New(); s.Kind() {
		case sinks.InboxKind:
			c.Sinks[typ.Name] = s
		case sinks.PushKind:
			c.pushTypes = append(c.pushTypes, typ.Name)
		default: // A queue has no default: each queue is configured by its name.
		}
	}
	return c
}

// CheckAll checks the sections together. The section of each sink was checked alone before.
func (c *Config) CheckAll(at settings.Section) {
	l := loadOf(at)
	c.Node.check(at.In("node"))
	c.checkAuth(at)
	c.Redis.check(at.In("redis"))
	c.Ledger.check(at.In("ledger"), l)
	for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
		s, where := c.Sources[name], at.In("sources").In(name)
		if !where.IsBad() {
			s.check(where, l)
			c.Sources[name] = s
		}
		if !settings.IsName(name) {
			where.FailName(CodeName, badName(name), nameHint)
		}
	}
	c.Sinks.check(at.In("sinks"))
	c.Subscriptions.check(at.In("subscriptions"), c.Sources)
	c.checkPaths(at, l)
}

const nameHint = "1 to 64 letters, digits, _ . -, the first a letter or digit"

func badName(name string) string { return fmt.Sprintf("%q cannot be a name", name) }

// checkPaths makes the paths absolute. It does not read the files.
func (c *Config) checkPaths(at settings.Section, l *loader) {
	paths := at.In("rules").In("paths")
	if len(c.Rules.Paths) == 0 && !paths.IsBad() {
		paths.Fail(strictyaml.CodeMissing, "rules.paths names no file or folder", "for example [rules]")
	}
	for i, p := range c.Rules.Paths {
		if p == "" {
			at.In("rules").Item("paths", i).Fail(strictyaml.CodeMissing, "rules.paths has an empty path", "")
		}
		c.Rules.Paths[i] = l.Resolve(p)
	}
	if c.Types.Path == "" {
		at.In("types").In("path").Fail(strictyaml.CodeMissing, "types.path is empty", "for example types.yaml")
	}
	c.Types.Path = l.Resolve(c.Types.Path)
}

var subscriberPattern = regexp.MustCompile(`^(user|role):[A-Za-z0-9][A-Za-z0-9_.@-]{0,127}$`)

// Check implements strictyaml.Checker.
func (s *Subscription) Check(at settings.Section) {
	for _, f := range []struct{ name, value string }{{"type", s.Type}, {"warehouse", s.Warehouse}, {"subscriber", s.Subscriber}} {
		if f.value == "" {
			at.Missing(f.name)
		}
	}
	if s.Warehouse != "" && s.Warehouse != "*" {
		checkWarehouse(at.In("warehouse"), s.Warehouse)
	}
	if s.Subscriber != "" && !subscriberPattern.MatchString(s.Subscriber) {
		at.In("subscriber").Fail(CodeSubscriber, fmt.Sprintf("%q is no subscriber", s.Subscriber), "user:<id> or role:<id>")
	}
}

func checkWarehouse(at settings.Section, name string) {
	if !settings.IsName(name) {
		at.Fail(CodeName, fmt.Sprintf("%q cannot be the name of a warehouse", name), "letters, digits, _ . - or * for all")
	}
}

// Telemetry is what a node says about itself: in its log, on /metrics, and in traces.
type Telemetry struct {
	Log     Log     `yaml:"log" doc:"The log, which goes to the error output."`
	Metrics Metrics `yaml:"metrics" doc:"What /metrics shows."`
	Traces  Traces  `yaml:"traces" doc:"Traces of runs and of what follows from them, sent by OpenTelemetry's protocol (OTLP over HTTP)."`
}

// Log says how the node writes its log.
type Log struct {
	Format string `yaml:"format" enum:"text,json" doc:"How a line of the log is written."`
	Level  string `yaml:"level" enum:"debug,info,warn,error" doc:"The least level that is written. tallyman log level changes the level while the node runs."`
}

// The formats of the log.
const (
	LogText = "text"
	LogJSON = "json"
)

// Metrics limits the series on /metrics.
type Metrics struct {
	MaxRules int `yaml:"max_rules" min:"1" max:"100000" doc:"How many rules have series of their own while they are well. A rule that fails, is late or degraded always has its series."`
}

// Traces says where spans are sent, by OTLP over HTTP.
type Traces struct {
	Endpoint Endpoint         `yaml:"endpoint" doc:"The address of the collector. Without a path, /v1/traces is added. Without an endpoint the node makes no traces."`
	Headers  settings.Headers `yaml:"headers" doc:"Headers of each call to the collector. Values are kept secret."`
	Sample   Share            `yaml:"sample" doc:"The share of traces that the node keeps."`
}

// tracesPath is the path of a collector for traces, where the address has none.
const tracesPath = "/v1/traces"

// Endpoint is the whole address of a collector.
type Endpoint string

// Takes says what an endpoint may be.
func (e Endpoint) Takes() string { return "an http or https address without credentials" }

// DecodeYAML reads the address. Credentials belong in the headers, which are kept secret.
func (e *Endpoint) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	s, ok := d.Text(name, n)
	if !ok || s == "" {
		*e = ""
		return
	}
	u := settings.WebURL(s)
	if u == nil || u.User != nil || u.RawQuery != "" {
		d.Fail(n, CodeURL, name+" is no address of a collector", "http://host:4318; credentials go into telemetry.traces.headers")
		return
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = tracesPath
	}
	*e = Endpoint(u.String())
}

// Share is a number from 0 to 1.
type Share float64

// Takes says what a share may be.
func (x Share) Takes() string { return "a number from 0 to 1" }

// DecodeYAML reads the number.
func (x *Share) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	s, ok := d.Setting(name, n, x.Takes())
	if !ok {
		return
	}
	share, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil:
		d.Fail(n, strictyaml.CodeType, fmt.Sprintf("%s takes %s, found %q", name, x.Takes(), s), "")
	case !(share >= 0 && share <= 1): // NaN too
		d.Fail(n, strictyaml.CodeOutOfRange, fmt.Sprintf("%s is %s, 0 to 1 is possible", name, s), "0.1 keeps one trace in ten")
	default:
		*x = Share(share)
	}
}
