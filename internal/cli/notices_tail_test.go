package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tallyman/internal/testenv"
)

// tailed is a server of notices that come while a tail follows them. It can go away, and lose its epoch.
type tailed struct {
	mu      sync.Mutex
	notices int // n_1, n_2, …
	epoch   int
	polls   int
}

func (s *tailed) add(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notices += n
}

func (s *tailed) polled() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.polls
}

// ServeHTTP answers a poll with pages of at most 3; a cursor is epoch.number.
func (s *tailed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.polls++
	after, reset := 0, false
	if cursor := r.URL.Query().Get("after"); cursor != "" {
		epoch, number, _ := strings.Cut(cursor, ".")
		if reset = epoch != strconv.Itoa(s.epoch); !reset {
			after, _ = strconv.Atoi(number)
		}
	}
	last := min(after+3, s.notices)
	list := []map[string]any{}
	for i := after + 1; i <= last; i++ {
		list = append(list, map[string]any{"id": fmt.Sprintf("n_%d", i), "title": "notice " + strconv.Itoa(i), "status": "event"})
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(map[string]any{
		"notices": list, "changes": []any{}, "cursor": fmt.Sprintf("%d.%d", s.epoch, last), "more": last < s.notices, "reset": reset,
		"resetReason": "index_rebuilt", "missed": 0,
	}); err != nil {
		panic(http.ErrAbortHandler) // the tail went away
	}
}

// listen serves on the address until the returned function is called.
func (s *tailed) listen(t *testing.T, address string) (string, func()) {
	t.Helper()
	ln, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: s}
	done := make(chan struct{})
	go func() { _ = server.Serve(ln); close(done) }()
	return ln.Addr().String(), func() {
		server.Close()
		<-done
	}
}

// TestTailOutlastsTheServer proves that a tail prints each notice once and in order, through restarts of the server and of its index.
func TestTailOutlastsTheServer(t *testing.T) {
	t.Parallel()
	s := &tailed{notices: 8}
	address, stop := s.listen(t, "127.0.0.1:0")
	out, errs := &testenv.Output{}, &testenv.Output{}
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		code <- Run(ctx, Process{
			Args: []string{"notices", "tail", "--server", address, "--warehouse", "1", "--subscriber", "user:1", "--last", "2", "-o", "json"},
			In:   strings.NewReader(""), Out: out, Err: errs,
		}, Services{})
	}()
	printed := func(last int) {
		t.Helper()
		testenv.Eventually(t, func() bool { return strings.Contains(out.String(), fmt.Sprintf(`"n_%d"`, last)) }, longestWait)
	}
	printed(8)
	s.add(7)
	printed(15)
	stop()
	testenv.Eventually(t, func() bool { return strings.Contains(errs.String(), "trying again") }, longestWait)
	s.add(5)
	_, stop = s.listen(t, address)
	printed(20)
	s.mu.Lock()
	s.epoch++ // the window comes again, from its start
	s.notices++
	s.mu.Unlock()
	printed(21)
	before := s.polled()
	testenv.Eventually(t, func() bool { return s.polled() > before+3 }, longestWait)
	cancel()
	if got := <-code; got != ExitFine {
		t.Errorf("exit code %d: %s", got, errs.String())
	}
	stop()
	var want strings.Builder
	for i := 7; i <= 21; i++ {
		fmt.Fprintf(&want, "n_%d\n", i)
	}
	var got strings.Builder
	d := json.NewDecoder(strings.NewReader(out.String()))
	for {
		var n struct{ ID string }
		if err := d.Decode(&n); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		got.WriteString(n.ID + "\n")
	}
	if got.String() != want.String() {
		t.Errorf("printed:\n%s", got.String())
	}
	if n := strings.Count(errs.String(), "answers again"); n != 1 || strings.Count(errs.String(), "trying again") != 1 {
		t.Errorf("said:\n%s", errs.String())
	}
}

func TestSinceTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{"2h": "2026-06-01T10:00:00Z", "1d": "2026-05-31T12:00:00Z", "2026-06-01T08:00:00+08:00": "2026-06-01T00:00:00Z"} {
		if got, err := sinceTime(text, now); err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"soon", "-2h", "1969-01-01T00:00:00Z", ""} {
		if _, err := sinceTime(text, now); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestSeenForgetsTheOldest(t *testing.T) {
	t.Parallel()
	s := newIDMemory(2)
	for i, want := range map[int][]bool{0: {true, false, true, false, true, true}} {
		for j, id := range []string{"a", "a", "b", "a", "c", "a"} {
			if got := s.isNew(id); got != want[j] {
				t.Errorf("%d.%d %s: %t", i, j, id, got)
			}
		}
	}
}
