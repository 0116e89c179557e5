package rulediff

import (
	"time"

	"tallyman/rules/problem"
)

// Diff is how two versions of rule files differ. Times are in UTC.
type Diff struct {
	Ran      bool      `json:"ran"`                // false: the files alone were compared
	Due      time.Time `json:"due"`                // of the runs
	NoLedger string    `json:"noLedger,omitempty"` // why the state of the ledger could not be read
	Rules    []Rule    `json:"rules"`
	Same     int       `json:"same"` // rules that are alike, each scope counted; they are not run
	Sum      *Effect   `json:"sum,omitempty"`
	Failing  int       `json:"failing"` // rules of the new version that would not run, or whose run failed
}

// Status is what becomes of a rule.
type Status string

// The statuses.
const (
	Added   Status = "added"
	Removed Status = "removed"
	Changed Status = "changed"
)

// The values of Rule.From.
const (
	FromLedger = "ledger" // the state that the ledger has
	FromOld    = "old"    // as if the old version had told everything that it finds in this snapshot
	FromNone   = "none"   // nothing is known
)

// Rule is a rule in a scope that differs.
type Rule struct {
	ID      string       `json:"id"`
	Scope   string       `json:"scope"`
	Status  Status       `json:"status"`
	Mode    string       `json:"mode"`
	Enabled bool         `json:"enabled"` // in the new version
	Changes []Change     `json:"changes"`
	Warns   []string     `json:"warns"` // what a change does that is easily overlooked
	From    string       `json:"from,omitempty"`
	Sources []string     `json:"sources,omitempty"`
	Old     *Side        `json:"old,omitempty"`
	New     *Side        `json:"new,omitempty"`
	Effect  *Effect      `json:"effect,omitempty"` // nil where a version could not be run
	Faults  problem.List `json:"faults,omitempty"` // why the new version would not run
}

// Side is the run of one version.
type Side struct {
	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"` // why it failed, or would not run
	Rows    int    `json:"rows"`
	Matched int    `json:"matched"`
	Errored int    `json:"errored"`
	Notices int    `json:"notices"`
}

// Effect is what the new version makes other than the old one, in their next run. Each finding is in one of them, and
// those of Again are counted besides.
type Effect struct {
	Fire      Keys `json:"fire"`    // told by the new version only; of mode event, rows
	Pend      Keys `json:"pend"`    // wait for their time in the new version, and would not exist or would fire in the old one
	Resolve   Keys `json:"resolve"` // firing in the old version, and gone in the new one
	Keep      Keys `json:"keep"`    // told already: they go on in the new version, and would be gone in the old one
	Drop      Keys `json:"drop"`    // pending in the old version, and gone in the new one; of mode event, rows that are not told
	Unchanged Keys `json:"unchanged"`
	Again     Keys `json:"again"` // told already, and told again by the new version only
}

// Keys are findings: how many, and the first of them.
type Keys struct {
	Count int      `json:"count"`
	Keys  []string `json:"keys"`
}

// add counts a finding; the first ones are kept.
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
