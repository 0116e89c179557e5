package api_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/testenv"
	"tallyman/sinks/inbox/page"
)

// later makes a poll in the background.
func (b *bundle) later(t *testing.T, path string, headers ...string) <-chan answer {
	t.Helper()
	done := make(chan answer, 1)
	go func() { done <- b.get(t, path, headers...) }()
	return done
}

func TestWaitEndsWithANotice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tag := b.get(t, pollPath+"&after=c0").header.Get("ETag")
	plain := b.later(t, pollPath+"&after=c0&wait=60s")
	tagged := b.later(t, pollPath+"&after=c0&wait=60s", "If-None-Match", tag)
	b.inbox.awaitWaiters(2)
	b.inbox.put(onePage())
	for _, done := range []<-chan answer{plain, tagged} {
		if got := <-done; got.status != http.StatusOK || len(decodePage(t, got.body).Notices) != 1 {
			t.Errorf("status %d: %s", got.status, got.body)
		}
	}
}

func TestWaitGoesOnWhileThereIsNothingForTheClient(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tag := b.get(t, pollPath).header.Get("ETag")
	plain, tagged := b.later(t, pollPath+"&wait=60s"), b.later(t, pollPath+"&wait=60s", "If-None-Match", tag)
	stale := b.later(t, pollPath+"&wait=60s", "If-None-Match", `"of before"`)
	b.inbox.awaitWaiters(3)
	b.inbox.put(page.Page{Version: "v0.1", Cursor: "c0.1"}) // somebody else's
	b.inbox.awaitWaiters(3)
	b.inbox.put(page.Page{Version: "v0.2", Cursor: "c0.2", Unread: 1})
	for _, done := range []<-chan answer{plain, tagged, stale} {
		if got := <-done; got.status != http.StatusOK || decodePage(t, got.body).Cursor != "c0.2" {
			t.Errorf("status %d: %s", got.status, got.body)
		}
	}
}

func TestWaitHandsOnWhatGoesWrong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	done := b.later(t, pollPath+"&wait=60s")
	<-b.inbox.waiting
	b.inbox.fail(page.ErrUnavailable)
	b.inbox.put(onePage())
	if got := <-done; got.status != http.StatusServiceUnavailable || got.asProblem(t).Code != "inbox_unavailable" {
		t.Errorf("status %d: %s", got.status, got.body)
	}
}

func TestWaitFreesEverythingWhenTheClientLeaves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+pollPath+"&wait=60s", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		resp, err := b.client.Do(r)
		if err == nil {
			resp.Body.Close()
		}
		ended <- err
	}()
	<-b.inbox.waiting
	leave()
	if err := <-ended; err == nil {
		t.Fatal("the request was answered")
	}
	testenv.Eventually(t, func() bool { return b.api.Waiting() == 0 }, 60*time.Second)
	testenv.Eventually(t, func() bool { return len(b.meter.all()) == 1 && b.meter.all()[0] == "gone" }, 60*time.Second)
}

// TestWaitEndsInTime runs on a fake clock: the handler is called directly.
func TestWaitEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBundle()
		began := time.Now()
		got := b.handle(t, pollPath+"&wait=25s")
		if took := time.Since(began); took != 25*time.Second {
			t.Errorf("took %v", took)
		}
		if got.status != http.StatusOK || len(decodePage(t, got.body).Notices) != 0 {
			t.Errorf("status %d: %s", got.status, got.body)
		}
		tag := got.header.Get("ETag")
		got = b.handle(t, pollPath+"&wait=25s", "If-None-Match", tag)
		if took := time.Since(began); took != 50*time.Second || got.status != http.StatusNotModified || got.header.Get("ETag") != tag {
			t.Errorf("status %d, ETag %q after %v", got.status, got.header.Get("ETag"), took)
		}
	})
}
