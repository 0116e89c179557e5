package config

import (
	"time"

	"tallyman/internal/settings"
)

// Node is the node itself.
type Node struct {
	Name  string        `yaml:"name"`                    // "" = the host's name
	Lease time.Duration `yaml:"lease" min:"1s" max:"1m"` // of the node's session: how long what a dead node held waits for another node
}

func (n *Node) check(at settings.Section) {
	if n.Name != "" && !settings.IsName(n.Name) {
		at.In("name").Fail(CodeName, badName(n.Name), nameHint)
	}
}
