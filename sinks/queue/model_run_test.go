package queue

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
	"tallyman/sinks/recovery"
)

const modelEpoch = "1-model"

// TestAgainstAModel does random things to a line and to a plain model of it, and compares all there is after each.
// -rapid.checks says how many sequences; thousands are fine.
func TestAgainstAModel(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"redis", "miniredis"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr, share := testenv.Redis(t).Addr, raceFactor
			if name == "miniredis" { // it is slow, and to see what is different there a few are enough
				addr, share = testenv.Miniredis(t).Addr(), 4*raceFactor
			}
			client := dial(addr, recovery.NewWatch())
			t.Cleanup(func() { _ = client.Close() })
			var runs atomic.Int64
			rapid.Check(t, func(rt *rapid.T) {
				if rapid.IntRange(1, share).Draw(rt, "share") > 1 {
					return
				}
				r := newModelRun(rt, client, fmt.Sprintf("run%d:", runs.Add(1)))
				rt.Repeat(map[string]func(*rapid.T){
					"push": r.push, "step": r.step, "step ": r.step, "repeat": r.repeat, "advance": r.advance, "pause": r.pause, "change": r.change, "look": r.look, "": r.compare,
				})
				if err := client.FlushAll(rt.Context()).Err(); err != nil {
					rt.Fatal(err)
				}
			})
		})
	}
}

// modelRun is a line beside its model.
type modelRun struct {
	*model
	line   *queueLine
	client redis.UniversalClient
	clock  *testClock
	seq    int64
	ids    []string
	last   []item.Step // that named a request
	names  int
}

func newModelRun(t *rapid.T, client redis.UniversalClient, prefix string) *modelRun {
	clock := newTestClock(time.Date(2026, 3, 28, 22, 0, 0, 0, time.UTC)) // an hour before a night of 23 hours in Berlin
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	o, err := Options{
		Client: client, Watch: recovery.NewWatch(), Ledger: newMemoryLedger(), Node: "node", Prefix: prefix, Name: queueName, Timezone: berlin,
		Settings: drawSettings(t),
		Dedupe:   rapid.SampledFrom([]Window{{}, {Day: true}, {For: 90 * time.Minute}}).Draw(t, "window"), Now: clock.now,
	}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLine(&o, newLiveSettings(o.Settings), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.HSet(t.Context(), l.keys.meta(), "epoch", modelEpoch).Err(); err != nil {
		t.Fatal(err)
	}
	return &modelRun{line: l, client: client, clock: clock, model: &model{
		now: clock.now().UnixMicro(), settings: o.Settings, items: map[string]*modelItem{},
		ended: map[int64]*modelItem{}, dedupe: map[string]held{}, asked: map[string]*modelAnswer{}, over: map[string]bool{}, lives: map[int64]int64{},
	}}
}

func (r *modelRun) push(t *rapid.T) {
	items := make([]item.New, rapid.IntRange(1, 5).Draw(t, "items"))
	for n := range items {
		i := &items[n]
		i.ID = fmt.Sprintf("i%d", len(r.ids)+1)
		if len(r.ids) > 0 && rapid.IntRange(0, 9).Draw(t, "old") == 0 {
			i.ID = rapid.SampledFrom(r.ids).Draw(t, "id")
		} else {
			r.ids = append(r.ids, i.ID)
		}
		i.Warehouse = rapid.SampledFrom(modelWarehouses).Draw(t, "warehouse")
		i.Priority = rapid.IntRange(1, 5).Draw(t, "priority")
		i.Order = drawOrder(t, r.now)
		i.Payload = drawPayload(t, i.ID)
		i.DedupeKey = rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(t, "key")
		i.Delay = rapid.SampledFrom([]time.Duration{0, 0, 0, time.Second, time.Hour}).Draw(t, "delay")
		if rapid.IntRange(0, 3).Draw(t, "late") == 0 {
			i.Created = r.clock.now().Add(-time.Duration(rapid.IntRange(0, 7200).Draw(t, "seconds")) * time.Second)
		}
	}
	records, err := r.line.newRecords("tester", items)
	if err != nil {
		t.Fatal(err)
	}
	for n := range records {
		r.seq++
		records[n].Seq = r.seq
		if before := r.lastLife(records[n].ID); before != nil && rapid.Bool().Draw(t, "again") {
			records[n].Moves, records[n].Attempt, records[n].Warehouse = before.Moves+1, before.Attempt, before.Warehouse
			records[n].Bucket, records[n].Until = before.Bucket, before.until // which it may hold yet
			r.lives[r.seq] = before.Moves + 1
		}
	}
	got, err := r.line.enqueue(t.Context(), modelEpoch, tokenPush, records, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := r.model.push(records); !slices.Equal(want, got) {
		t.Fatalf("pushed %q, want %q", got, want)
	}
}

// lastLife is an item that has ended; nil = there is none of the id, or it is there.
func (r *modelRun) lastLife(id string) *modelItem {
	var last *modelItem
	for _, i := range r.ended {
		if i.ID == id && (last == nil || i.Seq > last.Seq) {
			last = i
		}
	}
	if r.items[id] != nil {
		return nil
	}
	return last
}

// drawOrder draws none mostly, else a number or a time near now, so that items with an order and items without stand
// between each other.
func drawOrder(t *rapid.T, now int64) item.ServiceOrder {
	kind := rapid.IntRange(0, 5).Draw(t, "ordered")
	if kind < 3 {
		return item.ServiceOrder{}
	}
	o := item.ServiceOrder{Given: true, Thousandths: rapid.Int64Range(-2, 2).Draw(t, "order")}
	if kind == 5 {
		o.Thousandths = now + 1_000_000*o.Thousandths
	}
	return o
}

// drawPayload draws a payload that stands in the value of its item or lies apart, some just at the border.
func drawPayload(t *rapid.T, id string) []byte {
	payload := []byte(`{"of":"` + id + "\",\n\"text\":\" 1\\n@\"}")
	if size := rapid.SampledFrom([]int{0, 0, largePayload - 1, largePayload, 5 * largePayload}).Draw(t, "size"); size > 0 {
		payload = append(payload, strings.Repeat(" ", size-len(payload))...)
	}
	return payload
}

// modelWarehouses are few, so that their items stand between each other's; a name may be any text.
var modelWarehouses = []string{"", "A", "A", "B b", "*-"}

// drawScope draws what a caller may see.
func drawScope(t *rapid.T) item.Scope {
	return rapid.SampledFrom([]item.Scope{nil, nil, {"A"}, {"B b", "A"}, {"*-"}, {"nowhere"}, {}}).Draw(t, "scope")
}

var modelKinds = []item.OpKind{
	item.Ack, item.Ack, item.Nack, item.Release, item.Extend, item.Suspend, item.Store, item.Finish, item.Assign, item.Remove, item.Requeue, item.Set, item.Set,
}

// drawOp draws an operation on an item that there is or was, with its attempt or another.
func (r *modelRun) drawOp(t *rapid.T) item.Op {
	o := item.Op{Kind: rapid.SampledFrom(modelKinds).Draw(t, "kind"), ID: rapid.SampledFrom(r.ids).Draw(t, "id")}
	hours := time.Duration(rapid.IntRange(0, 3).Draw(t, "hours")) * time.Hour
	switch o.Kind {
	case item.Assign:
		o.Worker = rapid.SampledFrom([]string{"", "w1", "w1.b", "user:ann", "user:ann/w1"}).Draw(t, "to")
	case item.Remove:
		o.Force = rapid.Bool().Draw(t, "force")
		o.Seq = rapid.SampledFrom([]int64{0, 0, 1, r.seq}).Draw(t, "seq")
		if i := r.items[o.ID]; i != nil && rapid.Bool().Draw(t, "its own") {
			o.Seq = i.Seq
		}
	case item.Nack, item.Extend:
		o.Delay = hours
	case item.Store:
		o.Delay = hours + time.Second
	case item.Set:
		o.Set = r.drawSetting(t, o.ID)
		o.Force = o.Set.Source > 0
	default: // it needs nothing more
	}
	named := slices.Contains([]item.OpKind{item.Ack, item.Nack, item.Release, item.Extend}, o.Kind)
	named = named || (o.Kind == item.Suspend || o.Kind == item.Store || o.Kind == item.Assign) && rapid.Bool().Draw(t, "leased")
	if named {
		o.Attempt = 1
		if i := r.items[o.ID]; i != nil {
			o.Attempt = max(1, i.Attempt-rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "stale"))
		}
	}
	if rapid.Bool().Draw(t, "note") {
		o.Note = "why: é -"
	}
	return o
}

func (r *modelRun) drawSetting(t *rapid.T, id string) *item.Setting {
	s := &item.Setting{Priority: rapid.IntRange(0, 5).Draw(t, "priority")}
	if order := drawOrder(t, r.now); s.Priority == 0 || rapid.Bool().Draw(t, "sets the order") {
		s.Order = &order
	}
	if rapid.Bool().Draw(t, "sets the payload") {
		s.Source, s.Payload = 1, drawPayload(t, id)
	}
	return s
}

func (r *modelRun) drawStep(t *rapid.T) item.Step {
	s := item.Step{Caller: item.Caller{
		Subject: rapid.SampledFrom([]string{"", "user:ann", "user:bob"}).Draw(t, "subject"), Scope: drawScope(t),
		Worker: rapid.SampledFrom([]string{"w1", "w1.b", "w2"}).Draw(t, "worker"), OwnLeases: rapid.Bool().Draw(t, "own"),
	}}
	if len(r.ids) > 0 {
		for range rapid.IntRange(0, 4).Draw(t, "ops") {
			s.Ops = append(s.Ops, r.drawOp(t))
		}
	}
	s.Max = rapid.IntRange(0, 4).Draw(t, "max")
	s.Lease = time.Duration(rapid.IntRange(0, 100).Draw(t, "lease")) * time.Second // 0 = that of the queue
	s.Wait = time.Duration(rapid.IntRange(0, 1).Draw(t, "waits")) * time.Second    // for the script: more may come
	if rapid.Bool().Draw(t, "named") {
		r.names++
		s.RequestID = "r" + strconv.Itoa(r.names)
	}
	return s
}

func (r *modelRun) step(t *rapid.T) {
	steps := []item.Step{r.drawStep(t)}
	for rapid.IntRange(0, 2).Draw(t, "more") == 0 {
		s := r.drawStep(t)
		if !slices.ContainsFunc(steps, func(o item.Step) bool { return o.RequestID != "" && s.RequestID != "" && o.Name() == s.Name() }) {
			steps = append(steps, s)
		}
	}
	r.do(t, steps)
	for _, s := range steps {
		if s.RequestID != "" {
			r.last = append(r.last, s)
		}
	}
}

// repeat repeats an earlier request.
func (r *modelRun) repeat(t *rapid.T) {
	if len(r.last) == 0 {
		t.Skip("nothing was asked by name yet")
	}
	s := r.last[rapid.IntRange(max(0, len(r.last)-9), len(r.last)-1).Draw(t, "which")] // so many are remembered of each worker
	r.do(t, []item.Step{s})
}

func (r *modelRun) do(t *rapid.T, steps []item.Step) {
	requests := make([]*request, len(steps))
	for n, s := range steps {
		if err := checkStep(&s); err != nil {
			t.Fatal(err)
		}
		requests[n] = r.line.newRequest(modelEpoch, s)
	}
	call := r.line.newCall(0, requests)
	reply, err := r.line.run(t.Context(), r.line.scripts.step, call.keys, call.args...)
	if err == nil {
		err = readAnswers(reply, requests)
	}
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range r.model.step(requests) {
		answer := requests[n].answer
		var outcomes []item.Outcome
		for _, result := range answer.Results {
			outcomes = append(outcomes, result.Outcome)
		}
		var leased []modelLease
		for _, l := range answer.Items {
			leased = append(leased, modelLease{l.ID, l.Attempt})
			if i := r.items[l.ID]; i != nil && !bytes.Equal(l.Payload, i.Payload) {
				t.Fatalf("%s was leased with %q, want %q", l.ID, l.Payload, i.Payload)
			}
		}
		if requests[n].reused != want.over {
			t.Fatalf("request %d was taken for an earlier one: %t, want %t", n, requests[n].reused, want.over)
		}
		if !slices.Equal(outcomes, want.outcomes) || !slices.Equal(leased, want.leased) {
			t.Fatalf("request %d came out as %v and leased %v, want %v and %v", n, outcomes, leased, want.outcomes, want.leased)
		}
	}
	next, due := requests[0].hint.next, r.soonest()
	if due > 0 && (next < 0 || next > time.Duration(max(due-r.now, 0))*time.Microsecond) {
		t.Fatalf("the next is due in %s, but something is at %d, now %d", next, due, r.now)
	}
}

func (r *modelRun) advance(t *rapid.T) {
	r.clock.advance(time.Duration(rapid.SampledFrom([]int{0, 1, 30, 3600, 90_000}).Draw(t, "seconds")) * time.Second)
	r.now = r.clock.now().UnixMicro()
}

// change sets other settings while items wait.
func (r *modelRun) change(t *rapid.T) {
	s := drawSettings(t)
	r.settings = s
	live := item.LiveSettings{Lease: &s.Lease, MaxAttempts: &s.MaxAttempts, SuspendSteps: s.SuspendSteps}
	r.line.settings.put(item.QueueSettings{Configured: r.line.o.Settings, Live: live})
}

func drawSettings(t *rapid.T) item.Settings {
	return item.Settings{
		Lease:        time.Duration(rapid.IntRange(30, 90).Draw(t, "queue's lease")) * time.Second,
		MaxAttempts:  rapid.SampledFrom([]int{item.NoLimit, 1, 2, 3}).Draw(t, "max attempts"),
		SuspendSteps: append([]time.Duration{}, []time.Duration{time.Hour, 2 * time.Hour, time.Minute}[:rapid.IntRange(0, 3).Draw(t, "steps")]...),
	}
}

func (r *modelRun) pause(t *rapid.T) {
	r.paused = !r.paused
	if err := r.client.HSet(t.Context(), r.line.keys.meta(), "paused", map[bool]int{true: 1, false: 0}[r.paused]).Err(); err != nil {
		t.Fatal(err)
	}
}
