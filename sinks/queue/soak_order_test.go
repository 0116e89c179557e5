package queue

import (
	"container/heap"
	"fmt"
	"testing"
	"time"

	"tallyman/internal/item"
)

// soakPush is what a producer knows of one item that was pushed.
type soakPush struct {
	id        string
	warehouse string
	seq       int64
	priority  int
	started   time.Time // before its push
	answered  time.Time // after the answer: from here on it is in the queue
}

// soakMove is a move from the ledger.
type soakMove struct {
	item.Move

	epoch string
}

// order follows what has moved, and finds leases that had to go to another item. It counts an item as ready where that
// is certain: after the answer to its push, and after a move that made it ready, within one epoch.
type order struct {
	items  map[int64]*orderItem
	pushes []*orderItem // by the time of their answer
	epoch  string
	ready  [item.HighestPriority + 1]map[string]int        // by level and warehouse, how many are ready for certain
	fresh  [item.HighestPriority + 1]map[string]*freshHeap // by level and warehouse, those of them that were never leased
	broken []string
}

type orderItem struct {
	soakPush

	seen  bool // it has moved
	ready bool // for certain
}

// freshHeap has the item on top whose push was answered first.
type freshHeap []*orderItem

func (h *freshHeap) Len() int           { return len(*h) }
func (h *freshHeap) Less(i, j int) bool { return (*h)[i].answered.Before((*h)[j].answered) }
func (h *freshHeap) Swap(i, j int)      { (*h)[i], (*h)[j] = (*h)[j], (*h)[i] }
func (h *freshHeap) Push(x any)         { *h = append(*h, x.(*orderItem)) }
func (h *freshHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// checkOrder returns the items that were served too early. The pushes are in the order of their answers, the moves in
// the order of their arrival.
func checkOrder(pushes []soakPush, moves []soakMove) []string {
	o := &order{items: map[int64]*orderItem{}}
	for _, p := range pushes {
		i := &orderItem{soakPush: p}
		o.items[p.seq] = i
		o.pushes = append(o.pushes, i)
	}
	for _, m := range moves {
		o.move(m)
	}
	return o.broken
}

func (o *order) move(m soakMove) {
	if m.epoch != o.epoch {
		o.epoch = m.epoch
		for level := range o.ready {
			o.ready[level], o.fresh[level] = map[string]int{}, map[string]*freshHeap{}
		}
		for _, i := range o.items {
			i.ready = false
		}
	}
	for len(o.pushes) > 0 && o.pushes[0].answered.Before(m.At) {
		if i := o.pushes[0]; !i.seen {
			o.set(i, true)
			fresh := o.fresh[i.priority]
			if fresh[i.warehouse] == nil {
				fresh[i.warehouse] = &freshHeap{}
			}
			heap.Push(fresh[i.warehouse], i)
		}
		o.pushes = o.pushes[1:]
	}
	i := o.items[m.Seq]
	if i == nil {
		o.broken = append(o.broken, fmt.Sprintf("item %d moved and was never pushed", m.Seq))
		return
	}
	if m.To == item.Leased {
		o.leased(i, m)
	}
	o.set(i, m.To == item.Ready)
	i.seen = true
}

func (o *order) set(i *orderItem, ready bool) {
	if i.ready == ready {
		return
	}
	i.ready = ready
	if ready {
		o.ready[i.priority][i.warehouse]++
	} else {
		o.ready[i.priority][i.warehouse]--
	}
}

// leased checks that nothing was ready that had to be served before the item, of what its worker sees.
func (o *order) leased(i *orderItem, m soakMove) {
	scope := soakScope(m.By)
	if !scope.Has(i.warehouse) {
		o.broken = append(o.broken, fmt.Sprintf("%s of %q was leased by %s, who sees %v", i.id, i.warehouse, m.By, scope))
	}
	for level := i.priority + 1; level <= item.HighestPriority; level++ {
		n := 0
		for warehouse, count := range o.ready[level] {
			if scope.Has(warehouse) {
				n += count
			}
		}
		if n > 0 {
			o.broken = append(o.broken, fmt.Sprintf("%s of level %d was leased at %s while %d of level %d were ready",
				i.id, i.priority, m.At.Format(time.StampMicro), n, level))
		}
	}
	if i.seen || m.Attempt != 1 { // it was put back, or written back: its place is another one
		return
	}
	for warehouse, h := range o.fresh[i.priority] {
		for h.Len() > 0 && (!(*h)[0].ready || (*h)[0].seen || (*h)[0] == i) {
			heap.Pop(h)
		}
		if h.Len() > 0 && (*h)[0].answered.Before(i.started) && scope.Has(warehouse) {
			o.broken = append(o.broken, fmt.Sprintf("%s, pushed from %s on, was leased before %s of the same level, whose push was answered at %s",
				i.id, i.started.Format(time.StampMicro), (*h)[0].id, (*h)[0].answered.Format(time.StampMicro)))
		}
	}
}

func TestTheSoakFindsWhatIsOutOfOrder(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time { return morning.Add(time.Duration(ms) * time.Millisecond) }
	pushes := []soakPush{
		{"low", "A", 1, 1, at(0), at(1)}, {"high", "A", 2, 5, at(2), at(3)}, {"second", "B", 3, 5, at(4), at(5)},
	}
	move := func(ms int, seq int64, from, to item.State, attempt int, epoch string) soakMove {
		return soakMove{item.Move{Seq: seq, At: at(ms), From: from, To: to, Attempt: attempt}, epoch}
	}
	lease := func(ms int, seq int64) soakMove { return move(ms, seq, item.Ready, item.Leased, 1, "1") }
	by := func(worker string, m soakMove) soakMove {
		m.By = worker
		return m
	}
	for name, c := range map[string]struct {
		moves []soakMove
		want  int
	}{
		"in order":                      {[]soakMove{lease(6, 2), lease(6, 3), lease(6, 1)}, 0},
		"before it could be known":      {[]soakMove{lease(3, 1), lease(6, 2), lease(7, 3)}, 0},
		"a lower level first":           {[]soakMove{lease(6, 1), lease(7, 2), lease(8, 3)}, 1},
		"a later push first":            {[]soakMove{lease(6, 3), lease(7, 2), lease(8, 1)}, 1},
		"what came back is ready again": {[]soakMove{lease(6, 2), lease(6, 3), move(7, 3, item.Leased, item.Ready, 1, "1"), lease(8, 1)}, 1},
		"what is put off is not":        {[]soakMove{lease(6, 2), lease(6, 3), move(7, 3, item.Leased, item.Suspended, 1, "1"), lease(8, 1)}, 0},
		"another epoch":                 {[]soakMove{lease(6, 2), move(7, 1, item.Ready, item.Leased, 2001, "2")}, 0},
		"an item that nobody pushed":    {[]soakMove{lease(6, 9)}, 1},
		"who does not see the first":    {[]soakMove{by("w2", lease(6, 3)), lease(7, 2), by("w1", lease(8, 1))}, 0},
		"who must not see it":           {[]soakMove{by("w2", lease(6, 2)), lease(7, 3), lease(8, 1)}, 1},
	} {
		if got := checkOrder(pushes, c.moves); len(got) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
