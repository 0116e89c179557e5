package ledger

import (
	"context"
	"time"
)

// Samples keeps measured values for charts: one sample for each minute, for each ten minutes and for each hour. The
// caller decides how long samples stay. docs/adr/samples.md tells why.
type Samples interface {
	// CountRuleFindings counts the open findings by warehouse, as CountFindings does, and by rule, in that order.
	CountRuleFindings(ctx context.Context) ([]RuleFindings, error)
	// FailedRuns returns at most limit failed runs that were due at since or later, the latest first.
	FailedRuns(ctx context.Context, since time.Time, limit int) ([]Run, error)
	// WaitingDeliveries returns at most limit pending deliveries, the oldest first. The list leaves out deliveries that
	// are not due yet and deliveries that a silence holds back; they do not count for the limit.
	WaitingDeliveries(ctx context.Context, now time.Time, limit int) ([]WaitingDelivery, error)
	// ClaimSample lets one node record the sample that begins at start: it returns true for the first node that asks.
	ClaimSample(ctx context.Context, step time.Duration, start time.Time) (bool, error)
	// RecordSamples records samples of a step in one transaction. A sample that is recorded already stays as it is.
	RecordSamples(ctx context.Context, step time.Duration, list []Sample) error
	// Samples returns the samples of a step that begin from one time (included) to another (excluded), in their
	// order.
	Samples(ctx context.Context, step time.Duration, from, to time.Time) ([]Sample, error)
	// LastSample returns the start of the latest sample of a step; the zero time where there is none.
	LastSample(ctx context.Context, step time.Duration) (time.Time, error)
	// PruneSamples removes the samples of a step that begin before a time.
	PruneSamples(ctx context.Context, step time.Duration, before time.Time) error
}

// RuleFindings is the number of open findings of a rule in a warehouse.
type RuleFindings struct {
	Warehouse, Rule string
	Firing, Pending int64
}

// WaitingDelivery is a delivery that is due and pending.
type WaitingDelivery struct {
	Warehouse, Type string // of the notice
	Since           time.Time
}

// Sample holds the values from Start on, for the length of one step.
type Sample struct {
	Start time.Time
	Taken int // number of moments whose values Figures adds up; 0 = no node measured, and the sample has only notices
	// Figures by warehouse and type. Cell.Warehouse "" = no warehouse; Cell.Type "" = all types together.
	Figures map[Cell]Figures
}

// Cell names the warehouse and the type of figures.
type Cell struct{ Warehouse, Type string }

// Figures are the values of a sample for one warehouse and type.
type Figures struct {
	Notices int64 `json:"n,omitempty"` // notices that were created
	Urgent  int64 `json:"u,omitempty"` // of these, the notices of priority 4 and 5
	Firing  int64 `json:"f,omitempty"` // firing findings, summed over the moments
	Pending int64 `json:"p,omitempty"` // pending findings, summed over the moments
	// Ages counts the waiting deliveries by age, summed over the moments. Place i counts the deliveries younger than
	// AgeBounds[i] that no earlier place counts. The last place counts the rest.
	Ages []int64 `json:"a,omitempty"`
	// QueueAge and Lateness are the highest values seen, in ms: how long the oldest ready item of a queue has waited,
	// and how late a firing began or still was.
	QueueAge int64 `json:"q,omitempty"`
	Lateness int64 `json:"l,omitempty"`
}

// AgeBounds are the upper bounds of the places of Figures.Ages, ascending.
var AgeBounds = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 24 * time.Hour, 72 * time.Hour,
}

// Add adds the values of other moments, of another warehouse or of another type. QueueAge and Lateness become the
// higher of the two values.
func (f *Figures) Add(o Figures) {
	f.Notices, f.Urgent, f.Firing, f.Pending = f.Notices+o.Notices, f.Urgent+o.Urgent, f.Firing+o.Firing, f.Pending+o.Pending
	f.QueueAge, f.Lateness = max(f.QueueAge, o.QueueAge), max(f.Lateness, o.Lateness)
	if missing := len(o.Ages) - len(f.Ages); missing > 0 {
		f.Ages = append(append(make([]int64, 0, len(o.Ages)), f.Ages...), make([]int64, missing)...)
	} else if len(o.Ages) > 0 {
		f.Ages = append([]int64(nil), f.Ages...) // copied, because another Figures may share the slice
	}
	for i, n := range o.Ages {
		f.Ages[i] += n
	}
}
