package ledger

import (
	"context"
	"time"
)

// Samples keeps how things were, for charts: a sample for each minute, for each ten minutes and for each hour, as long as whoever samples lets them
// stay. docs/adr/samples.md tells why.
type Samples interface {
	// CountRuleFindings counts the open findings by warehouse, as CountFindings does, and by rule, in that order.
	CountRuleFindings(ctx context.Context) ([]RuleFindings, error)
	// FailedRuns returns runs that failed and were due at since or later, the latest first, at most so many. Of runs that failed alike one after the other the
	// ledger may have kept the last alone.
	FailedRuns(ctx context.Context, since time.Time, limit int) ([]Run, error)
	// WaitingDeliveries returns the pending deliveries that were made first, at most so many, in the order in which they were made. Left out are those that
	// are not due yet and those that a silence holds back.
	WaitingDeliveries(ctx context.Context, now time.Time, limit int) ([]WaitingDelivery, error)
	// ClaimSample lets one node record the sample of a step that begins at start: true for the first that asks.
	ClaimSample(ctx context.Context, step time.Duration, start time.Time) (bool, error)
	// RecordSamples records samples of a step in one transaction. A sample that was recorded stays as it is.
	RecordSamples(ctx context.Context, step time.Duration, list []Sample) error
	// Samples returns the samples of a step that begin from one time to another, which is not included, in their order.
	Samples(ctx context.Context, step time.Duration, from, to time.Time) ([]Sample, error)
	// LastSample returns when the latest sample of a step begins; the zero time where there is none.
	LastSample(ctx context.Context, step time.Duration) (time.Time, error)
	// PruneSamples removes the samples of a step that begin before a time.
	PruneSamples(ctx context.Context, step time.Duration, before time.Time) error
}

// RuleFindings is how many findings of a rule are open in a warehouse.
type RuleFindings struct {
	Warehouse, Rule string
	Firing, Pending int64
}

// WaitingDelivery is a delivery that is due and pending.
type WaitingDelivery struct {
	Warehouse, Type string // of the notice
	Since           time.Time
}

// Sample is how things were from its start on, for the length of its step.
type Sample struct {
	Start time.Time
	Taken int // of how many moments Figures has sums; 0 = nobody looked, and there are only notices
	// Figures are by warehouse and by type. "" is no warehouse, or all types together.
	Figures map[Cell]Figures
}

// Cell is what figures are about.
type Cell struct{ Warehouse, Type string }

// Figures are what a sample has of a warehouse and a type.
type Figures struct {
	Notices int64 `json:"n,omitempty"` // that were made
	Urgent  int64 `json:"u,omitempty"` // of those, the ones of priority 4 and 5
	Firing  int64 `json:"f,omitempty"` // open findings, the sum over the moments
	Pending int64 `json:"p,omitempty"`
	// Ages counts the deliveries that waited, the sum over the moments: in place i those that were younger than AgeBounds[i] and in no place before; the last
	// place has the rest.
	Ages []int64 `json:"a,omitempty"`
	// QueueAge and Lateness, in ms, are the highest that was seen: since when the oldest ready item of a queue waited, and how late a firing began or was.
	QueueAge int64 `json:"q,omitempty"`
	Lateness int64 `json:"l,omitempty"`
}

// AgeBounds are the bounds of Figures.Ages, in the order of their length.
var AgeBounds = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 24 * time.Hour, 72 * time.Hour,
}

// Add adds what was seen at other moments, or in another warehouse or of another type.
func (f *Figures) Add(o Figures) {
	f.Notices, f.Urgent, f.Firing, f.Pending = f.Notices+o.Notices, f.Urgent+o.Urgent, f.Firing+o.Firing, f.Pending+o.Pending
	f.QueueAge, f.Lateness = max(f.QueueAge, o.QueueAge), max(f.Lateness, o.Lateness)
	if missing := len(o.Ages) - len(f.Ages); missing > 0 {
		f.Ages = append(append(make([]int64, 0, len(o.Ages)), f.Ages...), make([]int64, missing)...)
	} else if len(o.Ages) > 0 {
		f.Ages = append([]int64(nil), f.Ages...) // it may be another's
	}
	for i, n := range o.Ages {
		f.Ages[i] += n
	}
}
