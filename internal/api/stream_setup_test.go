package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"tallyman/sinks/inbox/page"
)

const streamPath = "/api/v1/notices/stream?warehouse=119240&subscriber=user:1"

// someCursor is one that decodes, for pages of the fake inbox.
var someCursor = page.Cursor{Epoch: "1-a", Score: bin().Score, Changes: bin().Score}.Encode()

// event is one of a stream. A comment has no name.
type event struct{ name, id, data string }

// listener reads a stream.
type listener struct {
	resp   *http.Response
	events chan event // closed at the stream's end
	leave  context.CancelFunc
}

// listen opens a stream; headers are name, value, …
func (b *bundle) listen(t testing.TB, path string, headers ...string) *listener {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	resp, err := b.client.Do(r) //nolint:bodyclose // it is, in the cleanup
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		t.Fatalf("status %d: %s", resp.StatusCode, body)
	}
	l := &listener{resp: resp, events: make(chan event, 10_000), leave: leave}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(l.events)
		readEvents(resp.Body, func(e event) bool {
			l.events <- e
			return true
		})
	}()
	t.Cleanup(func() {
		leave()
		resp.Body.Close()
		<-ended
	})
	return l
}

// readEvents reads a stream until it ends or take returns false. Comments and retry are left out.
func readEvents(from io.Reader, take func(event) bool) {
	in := bufio.NewScanner(from)
	in.Buffer(nil, 1<<20)
	var e event
	for in.Scan() {
		field, value, _ := strings.Cut(in.Text(), ": ")
		switch field {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if e.name != "" && !take(e) {
				return
			}
			e = event{}
		}
	}
}

// next is the next event, which must come, and have that name.
func (l *listener) next(t testing.TB, name string) event {
	t.Helper()
	select {
	case e, ok := <-l.events:
		if !ok {
			t.Fatalf("the stream ended where %s was due", name)
		}
		if e.name != name {
			t.Fatalf("%s came where %s was due: %s", e.name, name, e.data)
		}
		return e
	case <-time.After(20 * time.Second):
		t.Fatalf("no event came where %s was due", name)
	}
	return event{}
}

// ended waits for the end of the stream, which must come next.
func (l *listener) ended(t testing.TB) {
	t.Helper()
	select {
	case e, ok := <-l.events:
		if ok {
			t.Fatalf("%s came where the end was due: %s", e.name, e.data)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the stream did not end")
	}
}

// title is that of a notice.
func (e *event) title(t testing.TB) string {
	t.Helper()
	var n struct{ Title string }
	if err := json.Unmarshal([]byte(e.data), &n); err != nil {
		t.Fatal(err)
	}
	return n.Title
}

// titles returns the titles of the next notices. Events with the number of unread notices may come after or between
// them.
func (l *listener) titles(t testing.TB, n int) (titles []string, last event) {
	t.Helper()
	for len(titles) < n {
		select {
		case e, ok := <-l.events:
			switch {
			case !ok:
				t.Fatalf("the stream ended after %v", titles)
			case e.name == "notice":
				titles = append(titles, e.title(t))
				last = e
			case e.name != "unread":
				t.Fatalf("%s came after %v: %s", e.name, titles, e.data)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("nothing came after %v", titles)
		}
	}
	return titles, last
}
