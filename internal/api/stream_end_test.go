package api_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/api/stream"
	"tallyman/internal/auth"
	"tallyman/internal/testenv"
	"tallyman/internal/wire"
	"tallyman/sinks/inbox/page"
)

// bearer knows a token by its text.
type bearer map[string]auth.Identity

func (b bearer) Authenticate(r *http.Request) (auth.Identity, error) {
	id, ok := b[r.Header.Get("Authorization")]
	if !ok {
		return auth.None{}.Authenticate(r)
	}
	return id, nil
}

// holds is a client's identity that ends with the channel.
func holds(token string, ended <-chan struct{}) auth.Identity {
	return auth.Identity{
		Subject: "user:1", Access: []auth.Role{auth.Client}, Subscribers: []string{"user:1"}, Warehouses: []string{"119240"}, Token: token, Ended: ended,
	}
}

// reason returns the reason in the event end. The event must be the next, except for events on the way, and the last.
func (l *listener) reason(t testing.TB) string {
	t.Helper()
	for {
		select {
		case e, ok := <-l.events:
			if !ok {
				t.Fatal("the stream ended without a word")
			}
			if e.name != "end" {
				continue
			}
			var data struct{ Reason string }
			if err := json.Unmarshal([]byte(e.data), &data); err != nil {
				t.Fatal(err)
			}
			l.ended(t)
			return data.Reason
		case <-time.After(20 * time.Second):
			t.Fatal("the stream did not end")
		}
	}
}

func TestStreamsEndWithTheirToken(t *testing.T) {
	t.Parallel()
	revoked, expired := make(chan struct{}), make(chan struct{})
	old := holds("t2", expired)
	old.Expires = time.Now().Add(-time.Second)
	b, in := streaming(t, func(d *parts) {
		d.Auth = bearer{"one": holds("t1", revoked), "two": old, "three": holds("t3", make(chan struct{}))}
	})
	in.deliver(t, "119240", []string{"user:1"}, "before")
	one, again := b.listen(t, streamPath, "Authorization", "one"), b.listen(t, streamPath, "Authorization", "one")
	two, three := b.listen(t, streamPath, "Authorization", "two"), b.listen(t, streamPath, "Authorization", "three")
	for _, l := range []*listener{one, again, two, three} {
		l.titles(t, 1)
	}
	close(revoked)
	close(expired)
	for l, want := range map[*listener]string{one: "revoked", again: "revoked", two: "expired"} {
		if got := l.reason(t); got != want {
			t.Errorf("the reason is %q, want %q", got, want)
		}
	}
	in.deliver(t, "119240", []string{"user:1"}, "after")
	if titles, _ := three.titles(t, 1); titles[0] != "after" {
		t.Errorf("another token got %v", titles)
	}
	three.leave()
	testenv.Eventually(t, func() bool { return b.deps.streams.Open() == 0 }, 20*time.Second)
}

// While a stream catches up, a page may have nothing for it, as where a filter lets nothing through. It ends all the same, once.
func TestStreamsEndWhileTheyCatchUpWithNothing(t *testing.T) {
	t.Parallel()
	revoked := make(chan struct{})
	b := setup(t, func(d *parts) { d.Auth = bearer{"one": holds("t1", revoked)} })
	b.inbox.put(page.Page{Cursor: someCursor, More: true})
	var open []*listener
	for range 20 {
		open = append(open, b.listen(t, streamPath+"&type=REP_NOTICE", "Authorization", "one"))
	}
	for _, l := range open {
		l.next(t, "unread")
	}
	testenv.Eventually(t, func() bool { return len(b.inbox.asked()) > len(open) }, 20*time.Second)
	close(revoked)
	for _, l := range open {
		if got := l.reason(t); got != "revoked" {
			t.Errorf("the reason is %q", got)
		}
	}
	if strings.Contains(b.log.String(), "ERROR") {
		t.Error(b.log.String())
	}
}

func TestStreamsAreForThoseWhoMayRead(t *testing.T) {
	t.Parallel()
	b, _ := streaming(t, func(d *parts) { d.Auth = bearer{"one": holds("t1", nil)} })
	for _, path := range []string{
		streamPath + "&subscriber=user:2", "/api/v1/notices/stream?warehouse=119241&subscriber=user:1",
	} {
		if got := b.get(t, path, "Authorization", "one"); got.status != http.StatusForbidden {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	b.listen(t, streamPath, "Authorization", "one").next(t, "unread")
}

func TestStreamsAreCounted(t *testing.T) {
	t.Parallel()
	b, _ := streaming(t, func(d *parts) {
		d.Auth = bearer{"one": holds("t1", nil), "two": holds("t2", nil)}
		d.Streams = stream.Limits{Max: 4, PerToken: 2}
	})
	first := b.listen(t, streamPath, "Authorization", "one")
	b.listen(t, streamPath, "Authorization", "one")
	refused := func(token string, status int) {
		t.Helper()
		got := b.get(t, streamPath, "Authorization", token)
		if prob := got.asProblem(t); got.status != status || prob.Code != string(wire.CodeTooManyStreams) || got.header.Get("Retry-After") == "" {
			t.Errorf("%d, Retry-After %q: %s", got.status, got.header.Get("Retry-After"), got.body)
		}
	}
	refused("one", http.StatusTooManyRequests)
	b.listen(t, streamPath, "Authorization", "two")
	b.listen(t, streamPath)
	refused("two", http.StatusServiceUnavailable)
	first.leave()
	testenv.Eventually(t, func() bool { return b.deps.streams.Open() == 3 }, 20*time.Second)
	b.listen(t, streamPath, "Authorization", "one")
}

func TestStreamsEndWithTheNode(t *testing.T) {
	t.Parallel()
	in := newRealInbox(t, testenv.Redis(t).Addr)
	b := setup(t, func(d *parts) { d.Inbox = in })
	stop := b.serve(t)
	var open []*listener
	for range 20 {
		open = append(open, b.listen(t, streamPath))
	}
	for _, l := range open {
		l.next(t, "unread")
	}
	ended := stop()
	for _, l := range open {
		if got := l.reason(t); got != "shutdown" {
			t.Errorf("the reason is %q", got)
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if got := b.handle(t, streamPath); got.status != http.StatusServiceUnavailable || got.asProblem(t).Code != string(wire.CodeShuttingDown) {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// A client that does not read is cut off, and no other has to wait for it.
func TestSlowClientsAreCutOff(t *testing.T) {
	t.Parallel()
	b, in := streaming(t)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", streamPath)
	slow := bufio.NewReader(conn)
	for line := ""; !strings.HasPrefix(line, "event: unread"); {
		if line, err = slow.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	quick := b.listen(t, streamPath)
	quick.next(t, "unread")
	var want, got []string
	for i := 0; !slices.Contains(b.meter.all(), "stream slow"); i++ {
		titles := make([]string, 20)
		for j := range titles {
			titles[j] = fmt.Sprintf("%d.%d %s", i, j, long(2000))
		}
		in.deliver(t, "119240", []string{"user:1"}, titles...)
		some, _ := quick.titles(t, len(titles))
		want, got = append(want, titles...), append(got, some...)
		if i == 2000 {
			t.Fatal("80 MB later the slow client is still there")
		}
	}
	if !slices.Equal(got, want) {
		t.Error("the quick client got something else")
	}
	if b.deps.streams.Open() != 1 {
		t.Errorf("%d streams are open", b.deps.streams.Open())
	}
	if _, err := io.Copy(io.Discard, conn); err == nil {
		return // it was closed
	}
}
