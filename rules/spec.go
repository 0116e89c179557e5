package rules

import (
	"fmt"
	"time"

	"tallyman/rules/strictyaml"
)

// The shapes of a rule file. They hold what was written; ruleOf adds the defaults.

type fileSpec struct {
	Version  int                `yaml:"version,required" min:"1" max:"1"`
	Defaults *strictyaml.Node   `yaml:"defaults"`
	Rules    []*strictyaml.Node `yaml:"rules,required"`
}

type ruleSpec struct {
	ID             string            `yaml:"id"`
	Title          string            `yaml:"title"`
	Description    string            `yaml:"description"`
	Owner          string            `yaml:"owner"`
	RunbookURL     string            `yaml:"runbook_url"`
	Labels         map[string]string `yaml:"labels"`
	Enabled        bool              `yaml:"enabled"`
	Mode           string            `yaml:"mode" enum:"state,event"`
	Shadow         bool              `yaml:"shadow"`
	Schedule       scheduleSpec      `yaml:"schedule"`
	Scopes         []scopeSpec       `yaml:"scopes"`
	Source         string            `yaml:"source"`
	Probe          probeSpec         `yaml:"probe"`
	Per            string            `yaml:"per" enum:"row,result"`
	When           exprText          `yaml:"when"`
	Key            []string          `yaml:"key"`
	GroupBy        []string          `yaml:"group_by"`
	For            time.Duration     `yaml:"for" max:"365d"`
	KeepFiringFor  time.Duration     `yaml:"keep_firing_for" max:"365d"`
	RepeatInterval time.Duration     `yaml:"repeat_interval" min:"1s" max:"365d"`
	NoData         string            `yaml:"no_data" enum:"ok,keep_last,alert"`
	OnError        string            `yaml:"on_error" enum:"keep_last,alert"`
	Limit          limitSpec         `yaml:"limit"`
	Notice         noticeSpec        `yaml:"notice"`
	Deliver        []deliverSpec     `yaml:"deliver"`
}

type scheduleSpec struct {
	Cron     string        `yaml:"cron"`
	Timezone string        `yaml:"timezone"`
	Jitter   time.Duration `yaml:"jitter" max:"1h"`
	Overlap  string        `yaml:"overlap" enum:"skip,queue"`
	CatchUp  string        `yaml:"catch_up" enum:"none,once,all"`
}

type scopeSpec struct {
	Name      string           `yaml:"name,required"`
	Timezone  string           `yaml:"timezone"`
	Params    scalars          `yaml:"params"`
	Overrides *strictyaml.Node `yaml:"overrides"`
}

type probeSpec struct {
	SQL       string        `yaml:"sql"`
	Params    scalars       `yaml:"params"`
	Timeout   time.Duration `yaml:"timeout" min:"0.001s" max:"1h"`
	MaxRows   int           `yaml:"max_rows" min:"1" max:"10000000"`
	MaxCost   int           `yaml:"max_cost" min:"1"`
	Watermark watermarkSpec `yaml:"watermark"`
}

type watermarkSpec struct {
	Columns []string      `yaml:"columns,required"`
	Initial scalars       `yaml:"initial"`
	Lag     time.Duration `yaml:"lag" max:"1d"`
}

type limitSpec struct {
	Notices  int    `yaml:"notices" min:"1"`
	OnExceed string `yaml:"on_exceed" enum:"digest"`
}

type noticeSpec struct {
	Type         string              `yaml:"type"`
	Warehouse    exprText            `yaml:"warehouse"`
	Priority     exprText            `yaml:"priority"`
	Modal        string              `yaml:"modal" enum:"silent,popup"`
	Title        texts               `yaml:"title"`
	Body         texts               `yaml:"body"`
	Fields       map[string]exprText `yaml:"fields"`
	Expires      time.Duration       `yaml:"expires" min:"1s" max:"3650d"`
	SendResolved bool                `yaml:"send_resolved"`
}

type deliverSpec struct {
	Sink     string        `yaml:"sink,required"`
	Strategy string        `yaml:"strategy" enum:"immediate,delayed,important,timed"`
	Within   time.Duration `yaml:"within" min:"1s"`
	Delay    time.Duration `yaml:"delay"`
	At       exprText      `yaml:"at"`
	Unless   string        `yaml:"unless" enum:"read,acked,resolved"`
	When     exprText      `yaml:"when"`
}

// exprText is an expression; a bare number or boolean is one as well.
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

// texts is one text, or a map of texts by language.
type texts map[string]string

// DecodeYAML implements strictyaml.Decodable.
func (t *texts) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	if n.Kind == strictyaml.Scalar {
		if s, ok := d.Text(name, n); ok {
			*t = texts{"": s}
		}
		return
	}
	if n.Kind == strictyaml.Sequence {
		d.Fail(n, strictyaml.CodeType, name+" takes a text, or a map of texts by language, found a list", "")
		return
	}
	m := map[string]string{}
	d.Value(name, n, &m)
	for _, f := range n.Fields {
		if !language.MatchString(f.Name) {
			d.Fail(f.Key, strictyaml.CodeUnknown, fmt.Sprintf("%q in %s is no language", f.Name, name), "a code such as en, zh or pt-BR")
		}
	}
	*t = m
}

// scalars is a map of single values: string, int64, float64, bool or nil.
type scalars map[string]any

// DecodeYAML implements strictyaml.Decodable.
func (s *scalars) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	nodes := map[string]*strictyaml.Node{}
	d.Value(name, n, &nodes)
	*s = scalars{}
	for key, value := range nodes {
		if v, ok := d.Any(name+"."+key, value); ok {
			(*s)[key] = v
		}
	}
}
