package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/api/view"
	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

// post makes a request in the background.
func (b *bundle) post(t *testing.T, path, body string) <-chan answer {
	t.Helper()
	done := make(chan answer, 1)
	go func() { done <- b.do(t, http.MethodPost, path, body) }()
	return done
}

func TestALeaseWaitsForAnItem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	lease := b.post(t, queuePath+"/lease", `{"worker":"w","wait":"60s"}`)
	<-b.queue[0].waiting
	b.do(t, http.MethodPost, queuePath+"/items", `{"items":[{"id":"a","payload":1}]}`)
	if got := <-lease; got.status != http.StatusOK || !strings.Contains(got.body, `"id":"a"`) {
		t.Errorf("%d %s", got.status, got.body)
	}
	if n := b.api.Waiting(); n != 0 {
		t.Errorf("%d still wait", n)
	}
}

func TestALeaseWaitsNoLongerThanItSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBundle()
		began := time.Now()
		got := b.handleBody(t, http.MethodPost, queuePath+"/lease", `{"worker":"w","wait":"25s"}`)
		if took := time.Since(began); took != 25*time.Second || got.status != http.StatusOK || strings.TrimSpace(got.body) != `{"items":[]}` {
			t.Errorf("%d %s after %s", got.status, got.body, took)
		}
	})
}

// TestShutdownWakesWorkers: the workers get the results of their steps, and no request waits any more.
func TestShutdownWakesWorkers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stop := b.serve(t)
	lease := b.post(t, queuePath+"/lease", `{"worker":"v","wait":"60s"}`)
	step := b.post(t, queuePath+"/step", `{"worker":"w","max":1,"wait":"60s","ops":[{"op":"ack","id":"nothing","attempt":1}]}`)
	<-b.queue[0].waiting
	<-b.queue[0].waiting
	ended := stop()
	if got := <-lease; got.status != http.StatusOK || strings.TrimSpace(got.body) != `{"items":[]}` {
		t.Errorf("lease: %d %s", got.status, got.body)
	}
	if got := <-step; got.status != http.StatusOK || strings.TrimSpace(got.body) != `{"results":[{"op":"ack","id":"nothing","outcome":"lease_lost"}],"items":[]}` {
		t.Errorf("step: %d %s", got.status, got.body)
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
	began := time.Now()
	got := b.handleBody(t, http.MethodPost, queuePath+"/lease", `{"worker":"v","wait":"60s"}`)
	if took := time.Since(began); got.status != http.StatusOK || took > 30*time.Second {
		t.Errorf("after the end: %d after %s", got.status, took)
	}
}

// interrupted is a queue whose steps end with the context before it has done anything.
type interrupted struct{ *fakeTwins }

func (interrupted) Step(ctx context.Context, _ item.Step) (item.Stepped, error) {
	<-ctx.Done()
	return item.Stepped{}, ctx.Err()
}

// TestShutdownInTheMiddleOfAStep: the result of the operations is unknown, so the client must not believe that they are
// done.
func TestShutdownInTheMiddleOfAStep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.api = newAPI(withQueue(&b.deps, interrupted{b.queue}))
	stop := b.serve(t)
	step := b.post(t, queuePath+"/step", `{"worker":"w","max":1,"wait":"60s","ops":[{"op":"ack","id":"a","attempt":1}]}`)
	testenv.Eventually(t, func() bool { return b.api.Waiting() == 1 }, 60*time.Second)
	ended := stop()
	if got := <-step; got.asProblem(t).Code != "queue_unavailable" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func withQueue(deps *parts, q view.Queue) *parts {
	deps.Queues = map[string]view.ServedQueue{"replenishment": {Queue: q}}
	return deps
}

func TestAWorkerThatLeavesWaitsNoMore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, leave := context.WithCancel(t.Context())
	ended := b.postUntil(ctx, t, queuePath+"/lease", `{"worker":"w","wait":"60s"}`)
	<-b.queue[0].waiting
	leave()
	<-ended
	testenv.Eventually(t, func() bool { return b.api.Waiting() == 0 }, 60*time.Second)
	if log := b.log.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("that is no error: %s", log)
	}
}

// postUntil makes a request that ends with the context; the channel gets a value when it has.
func (b *bundle) postUntil(ctx context.Context, t *testing.T, path, body string) <-chan struct{} {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if resp, err := b.client.Do(r); err == nil {
			resp.Body.Close()
		}
	}()
	return ended
}

// late is a queue whose leases come when the client has left.
type late struct {
	*fakeTwins

	asked chan struct{}
	err   error // of the step that gives back
}

func (q *late) Step(ctx context.Context, s item.Step) (item.Stepped, error) {
	if s.Max == 0 {
		if err := ctx.Err(); err != nil {
			return item.Stepped{}, err
		}
		done, err := q.fakeTwins.Step(ctx, s)
		return done, either(q.err, err)
	}
	close(q.asked)
	<-ctx.Done()
	return q.fakeTwins.Step(context.WithoutCancel(ctx), s)
}

// leaveDuring asks for items and leaves before they come.
func leaveDuring(t *testing.T, q *late, body string) *bundle {
	t.Helper()
	q.fakeTwins, q.asked = newFakeTwins(), make(chan struct{})
	b := setup(t, func(d *parts) { withQueue(d, q) })
	b.queue = q.fakeTwins
	b.do(t, http.MethodPost, queuePath+"/items", `{"items":[{"id":"a","payload":1}]}`)
	ctx, leave := context.WithCancel(t.Context())
	ended := b.postUntil(ctx, t, queuePath+"/lease", body)
	<-q.asked
	leave()
	<-ended
	return b
}

// state is how item a stands.
func (t *fakeTwins) state() item.Item {
	q := t[0]
	q.mu.Lock()
	defer q.mu.Unlock()
	return *q.find(nil, "a")
}

func TestWhatAClientLeasedThatLeftIsGivenBack(t *testing.T) {
	t.Parallel()
	b := leaveDuring(t, &late{}, `{"worker":"w"}`)
	testenv.Eventually(t, func() bool { i := b.queue.state(); return i.State == item.Ready && i.Attempt == 1 && i.Failures == 0 }, 60*time.Second)
}

func TestAClientThatNamedItsRequestCanAskAgain(t *testing.T) {
	t.Parallel()
	b := leaveDuring(t, &late{}, `{"worker":"w","requestId":"r1"}`)
	testenv.Eventually(t, func() bool { return strings.Contains(b.log.String(), "path="+queuePath+"/lease") }, 60*time.Second)
	if i := b.queue.state(); i.State != item.Leased {
		t.Errorf("it is %s: the repeated request would name a lease that is over", i.State)
	}
}

func TestWhatCannotBeGivenBackWaitsForItsLease(t *testing.T) {
	t.Parallel()
	b := leaveDuring(t, &late{err: errBroken}, `{"worker":"w"}`)
	testenv.Eventually(t, func() bool { return strings.Contains(b.log.String(), "wait until their leases end") }, 60*time.Second)
}
