package ruletest

import (
	"fmt"
	"time"

	"tallyman/rules/strictyaml"
)

// The shapes of a test file.

type fileSpec struct {
	Rules pathList           `yaml:"rules,required"`
	Types string             `yaml:"types"`
	Tests []*strictyaml.Node `yaml:"tests,required"`
}

type testSpec struct {
	Name    string             `yaml:"name,required"`
	Rule    string             `yaml:"rule,required"`
	Scope   string             `yaml:"scope"`
	Start   *strictyaml.Node   `yaml:"start,required"`
	Exact   bool               `yaml:"exact"`
	Columns map[string]string  `yaml:"columns"`
	Steps   []*strictyaml.Node `yaml:"steps,required"`
}

type stepSpec struct {
	At     time.Duration                 `yaml:"at,required" max:"3650d"`
	Rows   []*strictyaml.Node            `yaml:"rows"`
	Tables map[string][]*strictyaml.Node `yaml:"tables"`
	Error  string                        `yaml:"error" text:"raw"`
	Expect *strictyaml.Node              `yaml:"expect"`
}

type expectSpec struct {
	Pending *int               `yaml:"pending"`
	Firing  *int               `yaml:"firing"`
	Rows    *int               `yaml:"rows"`
	Matched *int               `yaml:"matched"`
	Errored *int               `yaml:"errored"`
	Health  string             `yaml:"health" enum:"ok,degraded,error,no_data"`
	Notices []*strictyaml.Node `yaml:"notices"`
}

// noticeSpec has the names and types of a notice's JSON, and the sinks that it goes to. It is decoded for its faults only: what was
// written is compared.
type noticeSpec struct {
	ID         string            `yaml:"id"`
	Type       string            `yaml:"type"`
	TypeID     int64             `yaml:"typeId"`
	Warehouse  string            `yaml:"warehouse"`
	Rule       string            `yaml:"rule"`
	Scope      string            `yaml:"scope"`
	Key        *strictyaml.Node  `yaml:"key"`
	Episode    *strictyaml.Node  `yaml:"episode"`
	Status     string            `yaml:"status" enum:"firing,resolved,event"`
	Priority   int               `yaml:"priority" min:"1" max:"5"`
	Modal      string            `yaml:"modal" enum:"silent,popup"`
	Title      string            `yaml:"title" text:"raw"`
	Body       string            `yaml:"body" text:"raw"`
	Data       plainMap          `yaml:"data" text:"raw"`
	Labels     map[string]string `yaml:"labels"`
	Count      int               `yaml:"count" min:"1"`
	CreatedAt  *strictyaml.Node  `yaml:"createdAt"`
	CreateTime int64             `yaml:"createTime"`
	ExpireTime int64             `yaml:"expireTime"`
	ExpiresAt  *strictyaml.Node  `yaml:"expiresAt"`
	Sinks      []string          `yaml:"sinks"`
	Deliver    deliverList       `yaml:"deliver"`
}

// pathList is one path, or a list of them.
type pathList []string

// DecodeYAML implements strictyaml.Decodable.
func (p *pathList) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	if n.Kind == strictyaml.Scalar {
		if s, ok := d.Text(name, n); ok {
			*p = pathList{s}
		}
		return
	}
	var list []string
	d.Value(name, n, &list)
	*p = list
	if n.Kind == strictyaml.Sequence && len(list) == 0 {
		d.Fail(n, strictyaml.CodeMissing, name+" names no rule file", "the path of a rule file or folder, beside this file")
	}
}

// plainMap is a map of single values.
type plainMap struct{}

// DecodeYAML implements strictyaml.Decodable.
func (*plainMap) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	nodes := map[string]*strictyaml.Node{}
	d.Value(name, n, &nodes)
	for key, value := range nodes {
		d.Any(fmt.Sprintf("%s.%s", name, key), value)
	}
}
