package rulediff

import (
	"time"

	"tallyman/rules/problem"
)

// Diff is how two versions of rule files differ. Times are in UTC.
type Diff struct {
	Ran      bool      `json:"ran"`                // False means only the files were compared.
	Due      time.Time `json:"due"`                // The due time of the runs.
	NoLedger string    `json:"noLedger,omitempty"` // Why the ledger could not be read.
	Rules    []Rule    `json:"rules"`              // The rules that differ.
	// The number of rules that do not differ, each scope counted. They are not run.
	Same int     `json:"same"`
	Sum  *Effect `json:"sum,omitempty"`
	// The number of rules in the new version that would not run, or whose run failed.
	Failing int `json:"failing"`
}

// Status says how a rule differs.
type Status string

// The statuses.
const (
	Added   Status = "added"
	Removed Status = "removed"
	Changed Status = "changed"
)

// The values of Rule.From.
const (
	FromLedger = "ledger" // The runs begin with the ledger's state of the rule.
	FromOld    = "old"    // The runs begin as if the old version had sent notices of everything in this snapshot.
	FromNone   = "none"   // The runs begin with nothing.
)

// Rule is a rule in a scope that differs.
type Rule struct {
	ID      string       `json:"id"`
	Scope   string       `json:"scope"`
	Status  Status       `json:"status"`
	Mode    string       `json:"mode"`
	Enabled bool         `json:"enabled"` // In the new version.
	Changes []Change     `json:"changes"`
	Warns   []string     `json:"warns"` // Consequences that an author may overlook.
	From    string       `json:"from,omitempty"`
	Sources []string     `json:"sources,omitempty"`
	Old     *Side        `json:"old,omitempty"`
	New     *Side        `json:"new,omitempty"`
	Effect  *Effect      `json:"effect,omitempty"` // Nil where a version could not be run.
	Faults  problem.List `json:"faults,omitempty"` // Why the new version would not run.
}

// Side is the run of one version.
type Side struct {
	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"` // Why the run failed, or the rule would not run.
	Rows    int    `json:"rows"`
	Matched int    `json:"matched"`
	Errored int    `json:"errored"`
	Notices int    `json:"notices"`
}

// Effect compares the findings after the next run of the new version with the findings after the next run of the old
// version. Each finding is in one of the fields before Again. A finding may be in Again as well.
type Effect struct {
	Fire    Keys `json:"fire"`    // Only the new version sends a notice. For mode event: rows.
	Pend    Keys `json:"pend"`    // Pending in the new version. In the old version they fire, or do not exist.
	Resolve Keys `json:"resolve"` // Firing in the old version, and gone in the new one.
	Keep    Keys `json:"keep"`    // They have a notice. They go on in the new version, and are gone in the old one.
	// Pending in the old version, and gone in the new one. For mode event: rows without a notice in the new one.
	Drop      Keys `json:"drop"`
	Unchanged Keys `json:"unchanged"`
	Again     Keys `json:"again"` // They have a notice, and only the new version sends another one.
}

// Keys counts findings and lists the first of their keys.
type Keys struct {
	Count int      `json:"count"`
	Keys  []string `json:"keys"`
}

// add counts a finding, and keeps its key unless most keys are kept. A most of 0 keeps all.
func (k *Keys) add(key string, most int) {
	if k.Count++; most == 0 || len(k.Keys) < most {
		k.Keys = append(k.Keys, key)
	}
}

func newEffect() *Effect {
	return &Effect{
		Fire: Keys{Keys: []string{}}, Pend: Keys{Keys: []string{}}, Resolve: Keys{Keys: []string{}},
		Keep: Keys{Keys: []string{}}, Drop: Keys{Keys: []string{}}, Unchanged: Keys{Keys: []string{}}, Again: Keys{Keys: []string{}},
	}
}

// sum adds the counts of other.
func (e *Effect) sum(other *Effect) {
	e.Fire.Count += other.Fire.Count
	e.Pend.Count += other.Pend.Count
	e.Resolve.Count += other.Resolve.Count
	e.Keep.Count += other.Keep.Count
	e.Drop.Count += other.Drop.Count
	e.Unchanged.Count += other.Unchanged.Count
	e.Again.Count += other.Again.Count
}
