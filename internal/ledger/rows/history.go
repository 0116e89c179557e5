package rows

import (
	"hash/fnv"
	"slices"

	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

// FindingOf is the number by which the notices of a finding are found; see FindingHash.
func FindingOf(n *notice.Notice) int64 { return FindingHash(n.Rule, n.Scope, n.Key) }

// FindingHash is the number of a finding. Its upper 24 bits are those of rule and scope, so that the notices of a run lie
// together in the index. Others may have it too: whoever finds a notice by it looks at the notice.
func FindingHash(rule, scope, key string) int64 {
	return int64(hash(rule+"\x00"+scope)&^uint64(keyBits) | hash(key)&keyBits) //nolint:gosec // all 64 bits are used
}

// keyBits are the bits of a finding's number that come of its key.
const keyBits = 1<<40 - 1

// FindingsOf returns the lowest and highest number that findings of the rule in the scope may have.
func FindingsOf(rule, scope string) (lowest, highest int64) {
	lowest = FindingHash(rule, scope, "") &^ keyBits
	return lowest, lowest | keyBits
}

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // a hash takes everything
	return h.Sum64()
}

// FindingHashes are the numbers of the keys.
func FindingHashes(rule, scope string, keys []string) []int64 {
	out := make([]int64, len(keys))
	for i, key := range keys {
		out[i] = FindingHash(rule, scope, key)
	}
	return out
}

// Trace collects the answer to ledger.History's question of that name.
type Trace struct {
	Notices []ledger.Traced
	at      map[string]int // by id
}

// NewTrace takes the notices that were found. Those whose finding merely has the number of one that was asked for are left out.
func NewTrace(found []*notice.Notice, rule, scope string, keys, ids []string) *Trace {
	t := &Trace{at: map[string]int{}}
	for _, n := range found {
		if slices.Contains(ids, n.ID) || n.Rule == rule && n.Scope == scope && slices.Contains(keys, n.Key) {
			t.at[n.ID] = len(t.Notices)
			t.Notices = append(t.Notices, ledger.Traced{Notice: n})
		}
	}
	return t
}

// IDs are those of the notices.
func (t *Trace) IDs() []string {
	ids := make([]string, len(t.Notices))
	for i := range t.Notices {
		ids[i] = t.Notices[i].Notice.ID
	}
	return ids
}

// Add adds a delivery to its notice.
func (t *Trace) Add(d *TracedDelivery) {
	n := &t.Notices[t.at[d.Notice]]
	n.Deliveries = append(n.Deliveries, d.Traced())
}

// TracedDelivery is a delivery as the query of a trace names its columns.
type TracedDelivery struct {
	Notice          string
	Seq             int64
	Sink, Warehouse string
	State           int16
	Attempts        int
	LastError       string
	SentAt          int64
	Recipients      string
}

// Columns returns pointers to the fields in the order of the query's columns.
func (d *TracedDelivery) Columns() []any {
	return []any{&d.Notice, &d.Seq, &d.Sink, &d.Warehouse, &d.State, &d.Attempts, &d.LastError, &d.SentAt, &d.Recipients}
}

// Traced is the row as its readers see it.
func (d *TracedDelivery) Traced() ledger.TracedDelivery {
	return ledger.TracedDelivery{
		Seq: d.Seq, Lane: ledger.Lane{Sink: d.Sink, Warehouse: d.Warehouse}, State: ledger.DeliveryState(d.State),
		Attempts: d.Attempts, LastError: d.LastError, SentAt: Time(d.SentAt), Recipients: Recipients(d.Recipients),
	}
}

// ProbePlan is a row of probe_plans.
type ProbePlan struct {
	Checksum    string
	Cost        float64
	Shape       string
	Asked       int64
	BeforeCost  float64
	BeforeShape string
	BeforeUntil int64
}

// Columns returns pointers to the fields in the order of the table's columns after rule and scope.
func (p *ProbePlan) Columns() []any {
	return []any{&p.Checksum, &p.Cost, &p.Shape, &p.Asked, &p.BeforeCost, &p.BeforeShape, &p.BeforeUntil}
}

// Plan is the row as the engine sees it.
func (p *ProbePlan) Plan(rule, scope string) ledger.ProbePlan {
	out := ledger.ProbePlan{
		Rule: rule, Scope: scope, Checksum: p.Checksum, Cost: p.Cost, Shape: p.Shape, Asked: Time(p.Asked),
	}
	if p.BeforeUntil != 0 {
		out.Before = &ledger.PlanBefore{Cost: p.BeforeCost, Shape: p.BeforeShape, Until: Time(p.BeforeUntil)}
	}
	return out
}

// PlanArgs returns the columns of a plan.
func PlanArgs(p ledger.ProbePlan) []any {
	var before ledger.PlanBefore
	if p.Before != nil {
		before = *p.Before
	}
	return []any{
		p.Rule, p.Scope, p.Checksum, p.Cost, p.Shape, Micros(p.Asked), before.Cost, before.Shape, Micros(before.Until),
	}
}
