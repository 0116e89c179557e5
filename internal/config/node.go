package config

import (
	"time"

	"tallyman/internal/settings"
	"tallyman/rules/strictyaml"
)

// Node is the node itself.
type Node struct {
	Name       string        `yaml:"name" doc:"The name of this node in runs, status, logs and the audit log. Nodes with the same name cannot be told apart."`
	Lease      time.Duration `yaml:"lease" min:"1s" max:"1m" doc:"How long the other nodes wait for a node that does not answer. Then they take over its work."`
	DrainDelay time.Duration `yaml:"drain_delay" min:"0s" max:"10m" doc:"How long a node that stops goes on to answer while its /readyz says 503. Set it a little longer than your load balancer takes to notice. 0s suits a node without one."`
}

// Notes implements strictyaml.Noter.
func (n *Node) Notes() map[string]strictyaml.Note {
	return map[string]strictyaml.Note{"name": {Takes: nameHint, Default: "the host name"}}
}

func (n *Node) check(at settings.Section) {
	if n.Name != "" && !settings.IsName(n.Name) {
		at.In("name").Fail(CodeName, badName(n.Name), nameHint)
	}
}
