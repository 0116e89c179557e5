package app

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules"
)

const (
	recordTimeout = 10 * time.Second
	rulesObject   = "rules"        // of records about rule files
	rulesReload   = "rules.reload" // as the API has it, and at a start
	mostListed    = 200            // rules in a record
)

// rulesState is what a record says of the rule files of a node.
type rulesState struct {
	Version  string   `json:"version"` // a hash of the rules in force
	Rules    int      `json:"rules"`   // each scope counts
	Problems int      `json:"problems"`
	Added    []string `json:"added,omitempty"`
	Changed  []string `json:"changed,omitempty"`
	Removed  []string `json:"removed,omitempty"`
}

// recordRules records that the node runs other rules than the last record says: one record for all nodes that took the same files in. A file
// cannot be refused, so a record that cannot be written is a line in the log.
func (a *App) recordRules(ctx context.Context, via ledger.Via, after rulesState) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer done()
	last, err := a.ledger.Changes(ctx, ledger.ChangeFilter{Object: rulesObject, Action: rulesReload, Limit: 1})
	if err != nil {
		a.log.Error("what changed in the rule files could not be recorded", "error", err)
		return
	}
	var before struct {
		Version string `json:"version"`
	}
	if len(last) > 0 && json.Unmarshal(last[0].After, &before) == nil && before.Version == after.Version {
		return
	}
	a.record(ctx, &ledger.Change{Via: via, Action: rulesReload, Object: rulesObject, Before: versionOf(before.Version), After: jsonOf(after)})
}

// record writes what the node has done by itself.
func (a *App) record(ctx context.Context, c *ledger.Change) {
	c.By = "node:" + a.opts.Node
	if err := a.ledger.AddChange(ctx, c); err != nil {
		a.log.Error("a change could not be recorded", "action", c.Action, "object", c.Object, "error", err)
	}
}

func versionOf(version string) json.RawMessage {
	if version == "" {
		return nil
	}
	return jsonOf(map[string]string{"version": version})
}

// jsonOf encodes the program's own types, which cannot fail.
func jsonOf(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}

// differing names the rules that differ between two readings.
func differing(before, after []*rules.Rule) (added, changed, removed []string) {
	old, now := checksums(before), checksums(after)
	for _, id := range slices.Sorted(maps.Keys(now)) {
		sums, known := old[id]
		switch {
		case !known:
			added = append(added, id)
		case sums != now[id]:
			changed = append(changed, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(old)) {
		if _, still := now[id]; !still {
			removed = append(removed, id)
		}
	}
	return added[:min(len(added), mostListed)], changed[:min(len(changed), mostListed)], removed[:min(len(removed), mostListed)]
}

// checksums are those of each rule in all its scopes.
func checksums(list []*rules.Rule) map[string]string {
	sums := map[string]string{}
	for _, r := range list {
		sums[r.ID] += r.Scope + "\x00" + r.Checksum + "\x00"
	}
	return sums
}
