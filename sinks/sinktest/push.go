package sinktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/text/texttest"
	"tallyman/sinks"
)

// Answer says how the server behind a push channel behaves.
type Answer string

// The answers. With Refuse, Fail and Later, the server repeats what it got, secrets included, as careless servers do.
const (
	Take   Answer = "take"   // it takes everything
	Refuse Answer = "refuse" // it will never take this notice
	Fail   Answer = "fail"   // it does not take the notice now
	Later  Answer = "later"  // it does not take the notice now, and asks for a pause of LaterFor
	Break  Answer = "break"  // it breaks the connection in the middle
	Lose   Answer = "lose"   // it takes the notice, and breaks the connection before its answer
	Hang   Answer = "hang"   // it does not answer, however long the caller waits
)

// LaterFor is the pause that Later asks for.
const LaterFor = 7 * time.Second

// arrivalTimeout is how long the suite waits for something that must happen.
const arrivalTimeout = 20 * time.Second

// PushFixture is a push channel under test, with its server. The server takes everything until Answer is called.
type PushFixture struct {
	Pusher sinks.Pusher
	// Answer sets how the server behaves from now on.
	Answer func(t testing.TB, a Answer)
	// Lacks has the answers that the server of this channel cannot give.
	Lacks []Answer
	// Keys returns one key for each push that the server has taken so far, in their order. The server recognizes a
	// repeat by the key, such as Idempotency-Key or Message-ID. A batch is one push.
	Keys func(t testing.TB) []string
	// Asked returns the number of pushes that the server has seen so far, whatever its answer.
	Asked func() int
	// Batches is true if the channel sends several notices in one push.
	Batches bool
	// NoKeys is true if the channel has no keys, so that the server cannot recognize a repeat.
	NoKeys bool
	// Deliveries makes deliveries as the channel gets them. If it is nil, the suite uses PushDeliveries.
	Deliveries func(first int64, n int) []delivery.Delivery
	// Codes has the status code that a push notes for each answer. An answer without an entry has none.
	Codes map[Answer]int
	// Secrets has texts of the channel's configuration that no error may show.
	Secrets []string
}

// RunPush runs the suite for push channels. setup makes a channel that has pushed nothing. The TestMain of the package
// (testenv.Main) checks that no goroutine is left over.
func RunPush(t *testing.T, setup func(t *testing.T) PushFixture) {
	t.Helper()
	for name, test := range map[string]func(t *testing.T, f PushFixture){
		"a notice is taken":                       pushTakes,
		"a repeated notice has the same key":      pushSameKey,
		"a batch is one push":                     pushBatch,
		"nothing is pushed where nothing is":      pushNothing,
		"whatever is in a notice goes":            pushOdd,
		"a refusal names what is refused":         pushRefused,
		"a failure is not for good":               pushFails,
		"who asks for time is given it":           pushLater,
		"a broken connection is not for good":     pushBreaks,
		"a lost answer is a failure":              pushLoses,
		"an ended context ends a push":            pushHangs,
		"a push of an ended context goes nowhere": pushEnded,
		"the code of an answer is noted":          pushNotes,
		"no error shows a secret":                 pushSecrets,
		"many push at once":                       pushMany,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t)
			if f.Deliveries == nil {
				f.Deliveries = PushDeliveries
			}
			test(t, f)
		})
	}
}

// PushDeliveries returns Deliveries without recipients, as a push channel gets them.
func PushDeliveries(first int64, n int) []delivery.Delivery {
	out := Deliveries(first, n)
	for i := range out {
		out[i].Recipients = nil
	}
	return out
}

func pushTakes(t *testing.T, f PushFixture) {
	f.push(t, f.Deliveries(1, 1))
	f.push(t, f.Deliveries(2, 1))
	if keys := f.Keys(t); len(keys) != 2 {
		t.Errorf("taken: %q", keys)
	}
}

func pushSameKey(t *testing.T, f PushFixture) {
	if f.NoKeys {
		return
	}
	first, other := f.Deliveries(1, 1), f.Deliveries(2, 1)
	f.push(t, first)
	f.push(t, other)
	f.push(t, first)
	keys := f.Keys(t)
	if len(keys) != 3 || keys[0] == "" || keys[0] != keys[2] || keys[0] == keys[1] {
		t.Errorf("the keys of a notice, another, and the first again: %q", keys)
	}
}

func pushBatch(t *testing.T, f PushFixture) {
	if !f.Batches {
		return
	}
	first, other := f.Deliveries(1, 3), f.Deliveries(2, 3)
	f.push(t, first)
	f.push(t, other)
	f.push(t, first)
	keys := f.Keys(t)
	if len(keys) != 3 || !f.NoKeys && (keys[0] == "" || keys[0] != keys[2] || keys[0] == keys[1]) {
		t.Errorf("the keys of a batch, another, and the first again: %q", keys)
	}
}

func pushNothing(t *testing.T, f PushFixture) {
	f.push(t, nil)
	if keys := f.Keys(t); len(keys) != 0 {
		t.Errorf("taken: %q", keys)
	}
}

// pushOdd sends texts that could break the format of a channel. Each must arrive, and none may be refused.
func pushOdd(t *testing.T, f PushFixture) {
	for i, text := range []string{
		"", "a\r\nBcc: other@example.com\r\n\r\nx", "<b>&amp;\"'`{{ .x }}", "\xff\xc3(", "nul\x00 bell\x07", "补货通知 \u2028\u202e", texttest.All(), strings.Repeat("long ", 4000),
	} {
		d := f.Deliveries(int64(100+i), 1)
		d[0].Notice.Title, d[0].Notice.Body, d[0].Notice.Key = text, text, text
		d[0].Notice.Labels = map[string]string{"area": text}
		if err := f.Pusher.Push(t.Context(), d); err != nil {
			t.Errorf("a notice with %.40q: %v", text, err)
		}
		if n := len(f.Keys(t)); n != i+1 {
			t.Errorf("a notice with %.40q: %d taken, want %d", text, n, i+1)
		}
	}
}

func pushRefused(t *testing.T, f PushFixture) {
	if f.lacks(Refuse) {
		return
	}
	batch := f.Deliveries(1, 1)
	if f.Batches {
		batch = f.Deliveries(1, 3)
	}
	f.Answer(t, Refuse)
	err := f.Pusher.Push(t.Context(), batch)
	refused, ok := errors.AsType[*sinks.RefusedError](err)
	if !ok || len(refused.Seqs) != len(batch) || refused.Seqs[0] != batch[0].Seq {
		t.Fatalf("refused: %v", err)
	}
	f.recovers(t, batch)
}

func pushNotes(t *testing.T, f PushFixture) {
	for _, a := range []Answer{Take, Refuse, Fail, Later, Break} {
		if slices.Contains(f.Lacks, a) {
			continue
		}
		f.Answer(t, a)
		ctx, status := sinks.WithStatus(t.Context())
		_ = f.Pusher.Push(ctx, f.Deliveries(1, 1))
		if status.Code() != f.Codes[a] {
			t.Errorf("%s: noted %d, want %d", a, status.Code(), f.Codes[a])
		}
	}
}

func pushFails(t *testing.T, f PushFixture)  { _ = f.transient(t, Fail) }
func pushBreaks(t *testing.T, f PushFixture) { _ = f.transient(t, Break) }

func pushLater(t *testing.T, f PushFixture) {
	err := f.transient(t, Later)
	if later, ok := errors.AsType[*sinks.LaterError](err); err != nil && (!ok || later.After != LaterFor) {
		t.Errorf("%v does not say to wait for %s", err, LaterFor)
	}
}

// pushLoses shows that a push whose answer was lost is repeated with the same key.
func pushLoses(t *testing.T, f PushFixture) {
	if f.lacks(Lose) {
		return
	}
	_ = f.transient(t, Lose)
	if keys := f.Keys(t); len(keys) < 2 || !f.NoKeys && keys[0] != keys[len(keys)-1] {
		t.Errorf("the keys of a push whose answer was lost, and of its repetition: %q", keys)
	}
}

func pushHangs(t *testing.T, f PushFixture) {
	if f.lacks(Hang) {
		return
	}
	f.Answer(t, Hang)
	before := f.Asked()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Pusher.Push(ctx, f.Deliveries(1, 1)) }()
	waitFor(t, "the other side to be asked", func() bool { return f.Asked() > before })
	select {
	case err := <-done:
		t.Fatalf("ended before its context: %v", err)
	default:
	}
	cancel()
	select {
	case err := <-done:
		if _, refused := errors.AsType[*sinks.RefusedError](err); err == nil || refused {
			t.Errorf("ended by its context: %v", err)
		}
	case <-time.After(arrivalTimeout):
		t.Fatal("goes on although its context has ended")
	}
	f.recovers(t, f.Deliveries(1, 1))
}

func pushEnded(t *testing.T, f PushFixture) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := f.Pusher.Push(ctx, f.Deliveries(1, 1))
	if _, refused := errors.AsType[*sinks.RefusedError](err); err == nil || refused {
		t.Errorf("%v", err)
	}
	if keys := f.Keys(t); len(keys) != 0 {
		t.Errorf("taken: %q", keys)
	}
}

func pushSecrets(t *testing.T, f PushFixture) {
	for _, a := range []Answer{Refuse, Fail, Later, Break, Lose} {
		if f.lacks(a) {
			continue
		}
		f.Answer(t, a)
		err := f.Pusher.Push(t.Context(), f.Deliveries(1, 1))
		if err == nil {
			t.Errorf("%s: no error", a)
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			text := fmt.Sprintf("%v %+v %#v", e, e, e)
			for _, secret := range f.Secrets {
				if strings.Contains(text, secret) {
					t.Errorf("%s: the error shows %q: %s", a, secret, text)
				}
			}
		}
	}
}

func pushMany(t *testing.T, f PushFixture) {
	const callers, each = 16, 8
	errs := make(chan error, callers)
	for c := range int64(callers) {
		go func() {
			var all error
			for i := range int64(each) {
				all = errors.Join(all, f.Pusher.Push(t.Context(), f.Deliveries(c*each+i, 1)))
			}
			errs <- all
		}()
	}
	for range callers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	keys := f.Keys(t)
	slices.Sort(keys)
	if n := len(keys); n != callers*each || !f.NoKeys && len(slices.Compact(keys)) != n {
		t.Errorf("%d taken under %d keys, want %d", n, len(slices.Compact(keys)), callers*each)
	}
}

// transient makes a push fail with an answer that is not final, and returns the error. transient returns nil if the
// server cannot give that answer.
func (f PushFixture) transient(t *testing.T, a Answer) error {
	t.Helper()
	if f.lacks(a) {
		return nil
	}
	batch := f.Deliveries(1, 1)
	f.Answer(t, a)
	err := f.Pusher.Push(t.Context(), batch)
	if _, refused := errors.AsType[*sinks.RefusedError](err); err == nil || refused {
		t.Fatalf("%s: %v", a, err)
	}
	f.recovers(t, batch)
	return err
}

// recovers shows that an earlier failure does not disturb the next push.
func (f PushFixture) recovers(t *testing.T, batch []delivery.Delivery) {
	t.Helper()
	f.Answer(t, Take)
	before := len(f.Keys(t))
	f.push(t, batch)
	if n := len(f.Keys(t)); n != before+1 {
		t.Errorf("taken after all: %d", n-before)
	}
}

func (f PushFixture) push(t *testing.T, batch []delivery.Delivery) {
	t.Helper()
	if err := f.Pusher.Push(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
}

func (f PushFixture) lacks(a Answer) bool { return slices.Contains(f.Lacks, a) }

func waitFor(t *testing.T, what string, cond func() bool) {
	t.Helper()
	end := time.After(arrivalTimeout)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-end:
			t.Fatalf("waited %s for %s", arrivalTimeout, what)
		case <-tick.C:
		}
	}
}
