package config

import (
	"time"

	"tallyman/internal/settings"
)

// Node is the node itself.
type Node struct {
	Name string `yaml:"name"` // Empty means the name of the host.
	// Lease is the lease of the node's session. The work of a dead node waits for so long until another node takes
	// over.
	Lease time.Duration `yaml:"lease" min:"1s" max:"1m"`
}

func (n *Node) check(at settings.Section) {
	if n.Name != "" && !settings.IsName(n.Name) {
		at.In("name").Fail(CodeName, badName(n.Name), nameHint)
	}
}
