package ledgertest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
)

// itemModel is a simple model of how a ledger must treat the items of one queue.
type itemModel struct {
	items    []*modelItem // in the order of Seq
	epoch    string
	position int64
}

// modelItem is an item and its trace.
type modelItem struct {
	item.Record
	trace    []item.Move
	requests []string // requests that began its lives, where known
}

// checkItems makes random pushes and moves on the ledger and on the model, and compares the two.
func checkItems(t *testing.T, f *fixture) {
	t.Helper()
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		m := &itemMachine{f: f, t: t, queue: fmt.Sprintf("queue-%d", round)}
		m.NewEpoch(rt)
		rt.Repeat(rapid.StateMachineActions(m))
		m.compare(rt)
	})
}

// itemMachine is the state machine of rapid; its exported methods are the actions.
type itemMachine struct {
	f      *fixture
	t      *testing.T
	queue  string
	model  itemModel
	epochs int
	old    string // previous epoch
	sent   []item.Moves
}

// Push pushes a few items. Some of them were pushed before, or come twice in the call.
func (m *itemMachine) Push(t *rapid.T) {
	records := rapid.SliceOfN(rapid.Custom(m.record), 1, 5).Draw(t, "items")
	known, err := m.f.PushItems(m.t.Context(), m.queue, records)
	must(t, err, nil)
	for i, r := range records {
		was := m.byID(r.ID)
		want := item.PushAnswer{New: true, State: r.State, Seq: known[i].Seq, Warehouse: r.Warehouse}
		one := &modelItem{Record: r}
		// Again counts only for the first item of the call with this id.
		again := r.Again && !slices.ContainsFunc(records[:i], func(before item.Record) bool { return before.ID == r.ID })
		one.Again, one.Request = false, ""
		begins := pushOf(&r)
		if again && r.Request != "" {
			begins.Note = "request " + r.Request
		}
		if was != nil && again && was.State.Ended() && was.Warehouse == r.Warehouse && (r.Request == "" || !slices.Contains(was.requests, r.Request)) {
			one.trace, one.requests = was.trace, was.requests
			begins.N, begins.From, begins.Attempt = was.Moves+1, was.State, was.Attempt
			one.Moves, one.Attempt, want.Moves, want.Attempt = begins.N, begins.Attempt, begins.N, begins.Attempt
			m.model.items = slices.DeleteFunc(m.model.items, func(i *modelItem) bool { return i == was })
			for _, other := range m.model.items {
				if other.News != nil && other.News.Source == was.Seq {
					other.News.Payload = nil
				}
			}
			was = nil
		}
		if was != nil {
			want.New, want.Seq, want.State, want.Warehouse = false, was.Seq, was.State, was.Warehouse
		} else {
			if n := len(m.model.items); n > 0 && known[i].Seq <= m.model.items[n-1].Seq {
				t.Fatalf("number %d after %d", known[i].Seq, m.model.items[n-1].Seq)
			}
			one.Seq = known[i].Seq
			if again {
				one.requests = append(one.requests, r.Request)
			}
			one.trace = append(one.trace, begins)
			for j := range one.trace {
				one.trace[j].Seq = one.Seq
			}
			m.model.items = append(m.model.items, one)
		}
		same(t, want, known[i])
	}
}

func pushOf(r *item.Record) item.Move {
	return item.Move{Seq: r.Seq, At: r.Created, To: r.State, Due: r.Due, By: r.By, Node: r.Node}
}

func (m *itemMachine) record(t *rapid.T) item.Record {
	r := newItem(fmt.Sprintf("i_%d", rapid.IntRange(1, 12).Draw(t, "id")))
	r.Created = m.f.clock.Now()
	r.Order = rapid.SampledFrom([]item.ServiceOrder{{}, {Given: true}, {Given: true, Thousandths: -item.MostOrder}}).Draw(t, "order")
	r.Payload = rapid.SampledFrom([][]byte{[]byte(`"a"`), []byte(`"b"`), []byte(`"c"`)}).Draw(t, "payload")
	r.Warehouse = rapid.SampledFrom([]string{"", "119240", "W 2"}).Draw(t, "warehouse")
	r.Subject = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "subject")
	r.Delay = time.Duration(rapid.IntRange(0, 1).Draw(t, "delay")) * time.Minute
	r.Ready = r.Created.Add(r.Delay)
	if r.Delay > 0 {
		r.State, r.Due = item.Delayed, r.Ready
	}
	if r.Again = rapid.Bool().Draw(t, "again"); r.Again {
		r.Request = rapid.SampledFrom([]string{"", "r-1", "r-2", "r-3"}).Draw(t, "request")
	}
	if rapid.Bool().Draw(t, "window") {
		r.Until = r.Created.Add(2 * time.Minute)
	}
	return r
}

// Apply applies some entries that were applied already, and then new entries.
func (m *itemMachine) Apply(t *rapid.T) {
	entries := m.sent[max(0, len(m.sent)-rapid.IntRange(0, 3).Draw(t, "repeated")):]
	entries = slices.Clone(entries)
	for range rapid.IntRange(0, 3).Draw(t, "entries") {
		e := item.Moves{Position: m.model.position + int64(rapid.IntRange(1, 2).Draw(t, "step"))}
		m.model.position = e.Position
		for range rapid.IntRange(0, 4).Draw(t, "moves") {
			if open := m.open(); len(open) > 0 {
				e.List = append(e.List, m.step(t, rapid.SampledFrom(open).Draw(t, "item")))
			}
		}
		entries, m.sent = append(entries, e), append(m.sent, e)
	}
	must(t, m.f.ApplyMoves(m.t.Context(), m.queue, m.model.epoch, entries), nil)
}

// step makes a move of an item in the model.
func (m *itemMachine) step(t *rapid.T, i *modelItem) item.Move {
	to := rapid.SampledFrom([]item.State{
		item.Ready, item.Leased, item.Leased, item.Delayed, item.Suspended, item.Stored, item.Dead, item.Done, item.Removed,
	}).Draw(t, "to")
	mv := move(&i.Record, i.Moves+1, to)
	i.News = nil
	if !to.Ended() && rapid.IntRange(0, 2).Draw(t, "revised") == 0 {
		m.revise(t, i, &mv)
	}
	i.trace = append(i.trace, mv)
	return mv
}

// revise gives the move a revision. The item takes the payload of a refused item, or keeps its own payload.
func (m *itemMachine) revise(t *rapid.T, i *modelItem, mv *item.Move) {
	r := item.Revision{Priority: rapid.IntRange(1, 5).Draw(t, "priority"), Later: mv.To == item.Leased}
	r.Order = rapid.SampledFrom([]item.ServiceOrder{{}, {Given: true, Thousandths: -5}}).Draw(t, "order")
	payload := i.Payload
	if source := rapid.SampledFrom(m.model.items).Draw(t, "source"); source.State == item.Refused {
		r.Source, payload = source.Seq, source.Payload
	}
	mv.Revision = &r
	if !r.Later {
		i.Priority, i.Order, i.Payload = r.Priority, r.Order, payload
		return
	}
	i.News = &item.News{Revision: r}
	if r.Source != 0 {
		i.News.Payload = payload
	}
}

// ApplyOld applies moves of an earlier epoch.
func (m *itemMachine) ApplyOld(t *rapid.T) {
	err := m.f.ApplyMoves(m.t.Context(), m.queue, m.old, []item.Moves{{Position: 1 << 40}})
	must(t, err, ledger.ErrFenced)
}

// NewEpoch begins another epoch.
func (m *itemMachine) NewEpoch(t *rapid.T) {
	m.epochs++
	next := fmt.Sprintf("e%d", m.epochs)
	must(t, m.f.BeginEpoch(m.t.Context(), m.queue, m.model.epoch, ledger.IndexState{Epoch: next}, "a", 0), nil)
	m.old, m.model.epoch, m.model.position, m.sent = m.model.epoch, next, 0, nil
}

// Refuse refuses an item, ended or not.
func (m *itemMachine) Refuse(t *rapid.T) {
	if len(m.model.items) == 0 {
		t.Skip("nothing was pushed yet")
	}
	i := rapid.SampledFrom(m.model.items).Draw(t, "item")
	at := m.f.clock.Now()
	must(t, m.f.RefuseItems(m.t.Context(), m.queue, []item.Refusal{{Seq: i.Seq, Of: "x", At: at, Node: "b"}}), nil)
	if i.State.Ended() {
		return
	}
	i.trace = append(i.trace, item.Move{
		Seq: i.Seq, N: i.Moves + 1, At: at, From: i.State, To: item.Refused, Attempt: i.Attempt, Failures: i.Failures,
		Suspends: i.Suspends, Assignee: i.Assignee, Node: "b", Note: "x",
	})
	i.State, i.Due, i.News = item.Refused, time.Time{}, nil
	i.Moves++
}

// Wait lets time pass.
func (m *itemMachine) Wait(t *rapid.T) {
	m.f.clock.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second)
}

// Check compares only now and then, because a comparison costs more than the steps do. A difference stays, so a later
// comparison finds it.
func (m *itemMachine) Check(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "look") == 0 {
		m.compare(t)
	}
}

// compare compares the ledger's answers about the queue with the model.
func (m *itemMachine) compare(t *rapid.T) {
	ctx := m.t.Context()
	position, err := m.f.AppliedMoves(ctx, m.queue, m.model.epoch)
	must(t, err, nil)
	same(t, m.model.position, position)
	now := m.f.clock.Now()
	var open []item.Record
	var held []item.HeldKey
	ended := map[item.State][]item.Record{}
	subjects := map[string][]string{}
	for _, i := range m.model.items {
		switch {
		case i.State.Ended():
			ended[i.State] = append([]item.Record{i.Record}, ended[i.State]...)
		default:
			open = append(open, i.Record)
			if i.Subject != "" {
				subjects[i.Subject] = append(subjects[i.Subject], i.ID)
			}
		}
		if i.State == item.Done && i.Until.After(now) {
			held = append(held, item.HeldKey{Seq: i.Seq, ID: i.ID, Bucket: i.Bucket, Until: i.Until})
		}
	}
	gotOpen, err := m.f.UnfinishedItems(ctx, m.queue, 0, 100)
	must(t, err, nil)
	same(t, open, gotOpen)
	gotHeld, err := m.f.HeldKeys(ctx, m.queue, now, 0, 100)
	must(t, err, nil)
	same(t, held, gotHeld)
	state := rapid.SampledFrom([]item.State{item.Done, item.Removed, item.Refused}).Draw(t, "state")
	gotEnded, next, err := m.f.EndedItems(ctx, m.queue, state, nil, 0, 100)
	must(t, err, nil)
	same(t, ended[state], gotEnded)
	same(t, int64(0), next)
	m.compareScope(t, state, ended[state])
	asked := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "none"}), 0, 4).Draw(t, "subjects")
	gotOf, err := m.f.SubjectItems(ctx, m.queue, asked)
	must(t, err, nil)
	same(t, len(asked), len(gotOf))
	for i, subject := range asked {
		same(t, subjects[subject], gotOf[i])
	}
	if len(m.model.items) > 0 {
		i := rapid.SampledFrom(m.model.items).Draw(t, "traced")
		r, trace, err := m.f.ItemTrace(ctx, m.queue, i.ID)
		must(t, err, nil)
		want := i.Record
		if want.News != nil {
			want.News = &item.News{Revision: want.News.Revision}
		}
		same(t, want, r)
		same(t, i.trace, trace)
	}
}

func (m *itemMachine) open() []*modelItem {
	return slices.DeleteFunc(slices.Clone(m.model.items), func(i *modelItem) bool { return i.State.Ended() })
}

func (m *itemMachine) byID(id string) *modelItem {
	for _, i := range m.model.items {
		if i.ID == id {
			return i
		}
	}
	return nil
}

func same(t *rapid.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("not as the model has it (-model +ledger):\n%s", diff)
	}
}

// compareScope reads the ended items of some warehouses page by page, and compares them with the model.
func (m *itemMachine) compareScope(t *rapid.T, state item.State, ended []item.Record) {
	scope := rapid.SampledFrom([]item.Scope{{"119240"}, {"119240", "W 2"}, {"nowhere"}, {}}).Draw(t, "scope")
	var want, got []item.Record
	for i := range ended {
		if scope.Has(ended[i].Warehouse) {
			want = append(want, ended[i])
		}
	}
	limit := rapid.IntRange(1, 3).Draw(t, "limit")
	for before := int64(0); ; {
		page, next, err := m.f.EndedItems(m.t.Context(), m.queue, state, scope, before, limit)
		must(t, err, nil)
		got = append(got, page...)
		if next == 0 {
			break
		}
		before = next
	}
	same(t, want, got)
}
