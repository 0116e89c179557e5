package item

import "time"

// Level describes the ready items of one priority.
type Level struct {
	Priority int
	Ready    int64
	// When the item at the head of the level became ready; of several warehouses, the earliest such time. Zero =
	// none.
	Oldest time.Time
}

// Sizes counts the items of a queue.
type Sizes struct {
	Levels    []Level // 5 to 1
	Ready     int64   // ready for any worker
	Assigned  int64   // ready for one worker only
	Leased    int64
	Delayed   int64
	Suspended int64
	Stored    int64
	Dead      int64
	DeadSince time.Time // when the first of the dead items died; zero = none
	Pause     Pause
	Recent    Recent

	Warehouses []Depth // counts of each warehouse; the counts above are their sums; "" = items without a warehouse
}

// Sum returns the sizes with the totals of all warehouses.
func (s *Sizes) Sum() Sizes { return s.Of(nil) }

// Of returns the sizes with the totals of the warehouses in the scope.
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

// earlier returns the earlier of two times. A zero time means none and is ignored.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Depth counts the items of a queue in one warehouse.
type Depth struct {
	Warehouse string
	Ready     int64
	Assigned  int64
	Leased    int64
	Delayed   int64
	Suspended int64
	Stored    int64
	Dead      int64
	DeadSince time.Time // when the first of the dead items died; zero = none
	Levels    []Level   // 5 to 1
	Recent    Recent
}

// Recent counts recent changes of items. Redis counts them, so they start again at zero when Redis has lost its data.
type Recent struct {
	Span   time.Duration // the span that was counted: five minutes, and up to ten seconds more
	Pushed int64         // items that the queue accepted
	Done   int64         // items that were acked or finished
	Failed int64         // attempts that were nacked or whose lease ran out
	Dead   int64         // items that died after their last attempt
}

// Assigned is the list of ready items that only one worker gets. It is a state of lists, not of items.
const Assigned State = "assigned"

// WithheldState is the list of dead items that have waited for an operator since the ledger was restored. It is a
// state of lists, not of items.
const WithheldState State = "withheld"

// Query asks for one page of a queue.
type Query struct {
	Test  bool
	Scope Scope
	// State selects a list: ready (in the order of service), assigned, leased, delayed, suspended, stored (by due
	// time), dead, withheld, or an end. withheld and the ends come from the ledger, the latest first.
	State State
	// Key replaces State: items in any state that were pushed with this dedupe key, the latest push first.
	Key   string
	Order ListOrder // "" = ByState
	Limit int       // 1 … MaxBatch
	After string    // cursor of the previous page
}

// ListOrder is the order of a list of items.
type ListOrder string

// The orders of a list. Only ready items have ByWait: the item that has been ready for longest comes first, whatever
// its priority.
const (
	ByState ListOrder = "state" // as Query.State says
	ByWait  ListOrder = "waiting"
)

// Page is a part of a queue. An item that moves while pages are read may appear twice or not at all.
type Page struct {
	Items  []Item
	Cursor string // "" = last page
}

// Rank is the place of a ready item in the order of service.
type Rank struct {
	ID    string
	Place int64 // 1 is served next
	Score int64
}

// Worker holds or held leases of a queue, or has items assigned.
type Worker struct {
	Name     string
	Leased   int       // items that the worker holds now, counted among the first MaxBatch leased items
	Assigned int       // items that wait for this worker only, counted among the first MaxBatch assigned items
	Last     time.Time // time of the latest known lease; zero = none
}

// TracedItem is an item and its moves.
type TracedItem struct {
	Item  Item
	Trace []Move // The first move is the push.
}
