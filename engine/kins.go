package engine

import (
	"maps"
	"sync"

	"tallyman/engine/judge"
	"tallyman/rules"
)

// kins holds the parts that scopes of the same rule share (judge.Kin), so that the node makes each part once.
type kins struct {
	mu   sync.Mutex
	list map[string]*judge.Kin // Keyed by rules.Rule.Kin.
}

// of returns what the rule shares with other scopes. Nil means it shares nothing.
func (k *kins) of(r *rules.Rule) *judge.Kin {
	if r.Kin == "" {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.list == nil {
		k.list = map[string]*judge.Kin{}
	}
	if k.list[r.Kin] == nil {
		k.list[r.Kin] = judge.NewKin()
	}
	return k.list[r.Kin]
}

// keep drops each Kin that no rule of the list uses.
func (k *kins) keep(list []*rules.Rule) {
	wanted := map[string]bool{}
	for _, r := range list {
		wanted[r.Kin] = true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.list, func(kin string, _ *judge.Kin) bool { return !wanted[kin] })
}
