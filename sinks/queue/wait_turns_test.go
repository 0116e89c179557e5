package queue

import (
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/item"
)

// woken returns the names of the workers that were woken and have not asked yet.
func (ws *waiters) wokenNow() []string {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	names := []string{}
	for e := ws.here.Front(); e != nil; e = e.Next() {
		if w := e.Value.(*waiter); len(w.woken) == 1 {
			names = append(names, w.names[0])
		}
	}
	return names
}

func (ws *waiters) count() int {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.here.Len()
}

func wantWoken(t *testing.T, ws *waiters, want ...string) {
	t.Helper()
	got := ws.wokenNow()
	if len(got) != len(want) {
		t.Fatalf("woken: %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("woken: %v, want %v", got, want)
		}
	}
}

func TestTheLongestWaitingIsWokenFirst(t *testing.T) {
	t.Parallel()
	var ws waiters
	ws.wake("A", "") // nobody is there
	a, b, c := ws.enter(&item.Caller{Worker: "a"}), ws.enter(&item.Caller{Worker: "b"}), ws.enter(&item.Caller{Worker: "c"})
	ws.wake("A", "")
	wantWoken(t, &ws, "a")
	ws.wake("A", "") // a has its token: another item may be for the next
	wantWoken(t, &ws, "a", "b")
	<-a.woken // a asks, and waits on
	ws.wake("A", "")
	wantWoken(t, &ws, "a", "b")
	ws.wake("A", "")
	ws.wake("A", "") // everybody is woken
	wantWoken(t, &ws, "a", "b", "c")
	for _, w := range []*waiter{a, b, c} {
		ws.leave(w)
	}
	if ws.count() != 0 {
		t.Error("somebody stayed behind")
	}
}

func TestWhatIsForOneWorkerWakesItAlone(t *testing.T) {
	t.Parallel()
	var ws waiters
	for _, name := range []string{"a", "b", "c", "b"} {
		ws.enter(&item.Caller{Worker: name})
	}
	ws.wake("A", "x")
	wantWoken(t, &ws)
	ws.wake("A", "b")
	wantWoken(t, &ws, "b")
	ws.wake("A", "b")
	wantWoken(t, &ws, "b", "b")
}

func TestOneThatLeavesHandsItsTokenOn(t *testing.T) {
	t.Parallel()
	var ws waiters
	a := ws.enter(&item.Caller{Worker: "a"})
	ws.enter(&item.Caller{Worker: "b"})
	ws.enter(&item.Caller{Worker: "a"})
	ws.wake("A", "a")
	ws.leave(a)
	wantWoken(t, &ws, "b", "a") // it is not known whom the token was for
}

func TestTheTimerWakesOneAtTheNextDueTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ws waiters
		began := time.Now()
		ws.in(time.Second) // nobody waits: no timer
		a, b := ws.enter(&item.Caller{Worker: "a"}), ws.enter(&item.Caller{Worker: "b"})
		ws.in(3 * time.Second)
		ws.in(2 * time.Second)
		ws.in(4 * time.Second)
		<-a.woken
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("after %s", took)
		}
		synctest.Wait()
		wantWoken(t, &ws)
		ws.in(0)
		<-a.woken
		if took := time.Since(began); took < 2*time.Second+soonest || took > 3*time.Second {
			t.Errorf("after %s", took)
		}
		ws.in(time.Hour)
		ws.leave(a)
		ws.leave(b)
		c := ws.enter(&item.Caller{Worker: "c"})
		ws.in(2 * time.Hour)
		<-c.woken
		if took := time.Since(began); took < 2*time.Hour {
			t.Errorf("the timer of those who are gone has woken another after %s", took)
		}
		ws.leave(c)
	})
}
