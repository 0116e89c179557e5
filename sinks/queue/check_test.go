package queue

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

func TestItemsThatAreRefused(t *testing.T) {
	t.Parallel()
	n := newNode(t, testenv.Redis(t).Addr, newMemoryLedger())
	for field, change := range map[string]func(*item.New){
		"id":        func(i *item.New) { i.ID = "-x" },
		"priority":  func(i *item.New) { i.Priority = 6 },
		"payload":   func(i *item.New) { i.Payload = []byte("{") },
		"payload ":  func(i *item.New) { i.Payload = nil },
		"payload  ": func(i *item.New) { i.Payload = []byte("\"\xff\"") },
		"payload +": func(i *item.New) { i.Payload = []byte(`"` + strings.Repeat("x", item.MaxPayload) + `"`) },
		"dedupeKey": func(i *item.New) { i.DedupeKey = strings.Repeat("k", item.MaxKey+1) },
		"dedupeKe0": func(i *item.New) { i.DedupeKey = "a\x00b" },
		"delay":     func(i *item.New) { i.Delay = -1 },
		"delay+":    func(i *item.New) { i.Delay = MaxDelay + 1 },
		"createdAt": func(i *item.New) { i.Created = time.Unix(0, 0) },
	} {
		items := newItems(2, 3, "i")
		change(&items[1])
		_, err := n.Push(t.Context(), false, "tester", items)
		invalid, ok := errors.AsType[*item.InvalidError](err)
		if !ok || invalid.Index != 1 || !strings.HasPrefix(field, invalid.Field[:len(invalid.Field)-1]) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := n.Push(t.Context(), false, "tester", newItems(item.MaxBatch+1, 3, "i")); !isInvalid(err, "items") {
		t.Errorf("too many: %v", err)
	}
	if got := n.mustLease(t, "w", 10); len(got) > 0 {
		t.Errorf("of calls that were refused there are %v", idsOf(got))
	}
}

func TestStepsThatAreRefused(t *testing.T) {
	t.Parallel()
	op := func(kind item.OpKind, change ...func(*item.Op)) item.Step {
		o := item.Op{Kind: kind, ID: "i1"}
		for _, f := range change {
			f(&o)
		}
		return item.Step{Ops: []item.Op{o}}
	}
	attempt := func(o *item.Op) { o.Attempt = 1 }
	delay := func(d time.Duration) func(*item.Op) { return func(o *item.Op) { o.Delay = d } }
	for _, c := range []struct {
		field string
		step  item.Step
	}{
		{"worker", item.Step{Max: 1}},
		{"worker", item.Step{Max: 1, Caller: item.Caller{Worker: "two words"}}},
		{"worker", item.Step{RequestID: "r"}},
		{"requestId", item.Step{Caller: item.Caller{Worker: "w"}, RequestID: "a b", Max: 1}},
		{"max", item.Step{Caller: item.Caller{Worker: "w"}, Max: item.MaxBatch + 1}},
		{"max", item.Step{Caller: item.Caller{Worker: "w"}, Max: -1}},
		{"lease", item.Step{Caller: item.Caller{Worker: "w"}, Max: 1, Lease: MaxLease + 1}},
		{"lease", item.Step{Caller: item.Caller{Worker: "w"}, Max: 1, Lease: time.Microsecond}},
		{"wait", item.Step{Caller: item.Caller{Worker: "w"}, Max: 1, Wait: MaxWait + 1}},
		{"ops", item.Step{Ops: make([]item.Op, item.MaxBatch+1)}},
		{"op", op("eat")},
		{"id", item.Step{Ops: []item.Op{{Kind: item.Finish, ID: "a b"}}}},
		{"attempt", op(item.Ack)},
		{"attempt", op(item.Finish, attempt)},
		{"attempt", op(item.Suspend, func(o *item.Op) { o.Attempt = -1 })},
		{"delay", op(item.Store)},
		{"delay", op(item.Release, attempt, delay(time.Second))},
		{"delay", op(item.Nack, attempt, delay(MaxDelay+1))},
		{"worker", op(item.Assign, func(o *item.Op) { o.Worker = "a b" })},
	} {
		if err := checkStep(&c.step); !isInvalid(err, c.field) {
			t.Errorf("%+v: %v, want that %s is wrong", c.step, err, c.field)
		}
	}
}

// The messages of limits use the units that people write.
func TestLimitsAreToldInWords(t *testing.T) {
	t.Parallel()
	for want, op := range map[string]item.Op{
		"[0].delay: must be 0 to 366 days": {Kind: item.Nack, Attempt: 1, Delay: MaxDelay + 1},
		"[0].lease: must be 0 to 24 hours": {Kind: item.Extend, Attempt: 1, Delay: MaxLease + 1},
		"[0].delay: must be 0":             {Kind: item.Suspend, Delay: time.Second},
	} {
		op.ID = "i1"
		if err := checkStep(&item.Step{Ops: []item.Op{op}}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestNotesAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for _, note := range []string{strings.Repeat("é", item.MaxNote), "x" + strings.Repeat("é", item.MaxNote), "\xff" + strings.Repeat("x", item.MaxNote)} {
		if got := cutNote(note); len(got) > item.MaxNote || len(got) < item.MaxNote-3 || !utf8.ValidString(got) {
			t.Errorf("%d bytes of %q", len(got), note[:10])
		}
	}
	if got := cutNote("short"); got != "short" {
		t.Error(got)
	}
}
