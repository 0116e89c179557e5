package engine

import (
	"maps"
	"sync"

	"tallyman/engine/judge"
	"tallyman/rules"
)

// kins are what the scopes of rules share.
type kins struct {
	mu   sync.Mutex
	list map[string]*judge.Kin // by rules.Rule.Kin
}

// of returns what the rule shares with other scopes; nil where it shares nothing.
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

// keep forgets what none of the rules shares.
func (k *kins) keep(list []*rules.Rule) {
	wanted := map[string]bool{}
	for _, r := range list {
		wanted[r.Kin] = true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.list, func(kin string, _ *judge.Kin) bool { return !wanted[kin] })
}
