package item

import "time"

// Level is the ready part of one priority.
type Level struct {
	Priority int
	Ready    int64
	Oldest   time.Time // when its first became ready, of the warehouse whose first is the oldest; zero = there is none
}

// Sizes is how full a queue is.
type Sizes struct {
	Levels    []Level // 5 to 1
	Ready     int64   // that anybody may take
	Assigned  int64   // ready for one worker alone
	Leased    int64
	Delayed   int64
	Suspended int64
	Stored    int64
	Dead      int64
	DeadSince time.Time // when the first of them died; zero = there is none
	Pause     Pause
	Recent    Recent

	Warehouses []Depth // of which the figures above are the sums; "" = what belongs to none
}

// Sum returns the sizes with the sums of the warehouses.
func (s *Sizes) Sum() Sizes { return s.Of(nil) }

// Of returns the sizes of the warehouses that are in the scope.
func (s *Sizes) Of(scope Scope) Sizes {
	sum := Sizes{Levels: make([]Level, Levels), Pause: s.Pause, Recent: Recent{Span: s.Recent.Span}}
	for i := range sum.Levels {
		sum.Levels[i].Priority = HighestPriority - i
	}
	for _, d := range s.Warehouses {
		if !scope.Has(d.Warehouse) {
			continue
		}
		sum.Warehouses = append(sum.Warehouses, d)
		sum.Ready += d.Ready
		sum.Assigned += d.Assigned
		sum.Leased += d.Leased
		sum.Delayed += d.Delayed
		sum.Suspended += d.Suspended
		sum.Stored += d.Stored
		sum.Dead += d.Dead
		sum.DeadSince = earlier(sum.DeadSince, d.DeadSince)
		sum.Recent.Pushed += d.Recent.Pushed
		sum.Recent.Done += d.Recent.Done
		sum.Recent.Failed += d.Recent.Failed
		sum.Recent.Dead += d.Recent.Dead
		for i, level := range d.Levels {
			all := &sum.Levels[i]
			all.Ready += level.Ready
			all.Oldest = earlier(all.Oldest, level.Oldest)
		}
	}
	return sum
}

// earlier is the earlier of two times, of which the zero one does not count.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Depth is how much of a queue belongs to one warehouse.
type Depth struct {
	Warehouse string
	Ready     int64
	Assigned  int64
	Leased    int64
	Delayed   int64
	Suspended int64
	Stored    int64
	Dead      int64
	DeadSince time.Time // when the first of them died; zero = there is none
	Levels    []Level   // 5 to 1
	Recent    Recent
}

// Recent is what moved of late. It is counted by Redis, and begins anew when that has lost its data.
type Recent struct {
	Span   time.Duration // that was counted: five minutes and up to ten seconds more
	Pushed int64         // that were taken in
	Done   int64         // acked or finished
	Failed int64         // attempts: nacked, or their leases ran out
	Dead   int64         // items that died of their last attempt
}

// Assigned is the list of ready items that one worker alone gets; a state only of lists.
const Assigned State = "assigned"

// WithheldState is the list of dead items that wait for an operator since the ledger was restored; a state only of lists.
const WithheldState State = "withheld"

// Query asks for a part of a queue.
type Query struct {
	Test  bool
	Scope Scope
	State State     // ready (in the order of service), assigned, leased, delayed, suspended, stored (by due time), dead, withheld (the latest first, by the ledger, as all that follow), or an end
	Key   string    // of items in any state, the latest push first: that they were pushed with, instead of a state
	Order ListOrder // "" = ByState
	Limit int       // 1 … MaxBatch
	After string    // the cursor of the page before
}

// ListOrder is the order of a list of items.
type ListOrder string

// The orders of a list. Only ready items have ByWait: those that have been ready for longest come first, whatever their priorities.
const (
	ByState ListOrder = "state" // as Query.State says
	ByWait  ListOrder = "waiting"
)

// Page is a part of a queue. What moves while pages are read may be seen twice or not at all.
type Page struct {
	Items  []Item
	Cursor string // "" = there are no more
}

// Rank is the place of a ready item.
type Rank struct {
	ID    string
	Place int64 // 1 is served next
	Score int64
}

// Worker is somebody who holds or held leases of a queue, or to whom items are assigned.
type Worker struct {
	Name     string
	Leased   int       // items that the worker holds now, of the first MaxBatch that are leased
	Assigned int       // items that wait for the worker alone, of the first MaxBatch that are assigned
	Last     time.Time // of the latest lease that is known; zero = none is
}

// TracedItem is an item and its moves.
type TracedItem struct {
	Item  Item
	Trace []Move // the first is its push
}
