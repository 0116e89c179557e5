package api_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

// streaming is an API over a real inbox.
func streaming(t testing.TB, changes ...func(*parts)) (*bundle, *realInbox) {
	t.Helper()
	in := newRealInbox(t, testenv.Redis(t).Addr)
	return streamingOn(t, in, changes...), in
}

// streamingOn is an API over that inbox.
func streamingOn(t testing.TB, in *realInbox, changes ...func(*parts)) *bundle {
	t.Helper()
	b := newBundle(append(changes, func(d *parts) { d.Inbox = in })...)
	server := httptest.NewServer(b.api)
	b.url, b.client = server.URL, server.Client()
	t.Cleanup(server.Close)
	return b
}

func TestStreamGivesWhatIsThereAndWhatFollows(t *testing.T) {
	t.Parallel()
	b, in := streaming(t)
	in.deliver(t, "119240", []string{"user:1"}, "one", "two")
	l := b.listen(t, streamPath+"&subscriber=role:k")
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "X-Accel-Buffering": "no", "Cache-Control": "no-cache, no-store, no-transform, private",
		"X-Content-Type-Options": "nosniff",
	} {
		if got := l.resp.Header.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	titles, last := l.titles(t, 2)
	if !slices.Equal(titles, []string{"one", "two"}) {
		t.Errorf("%v", titles)
	}
	if e := l.next(t, "unread"); e.data != `{"unread":2,"unreadMore":false}` || e.id != last.id {
		t.Errorf("%v", e)
	}
	in.deliver(t, "119240", []string{"role:k"}, "three")
	in.deliver(t, "119240", []string{"user:2"}, "not theirs")
	in.deliver(t, "119240", []string{"user:1", "role:k"}, "four")
	if titles, _ = l.titles(t, 2); !slices.Equal(titles, []string{"three", "four"}) {
		t.Errorf("%v", titles)
	}
}

// A notice of a stream is that of a poll, and the ids of one are the cursors of the other.
func TestStreamsAndPollsAreOfOneKind(t *testing.T) {
	t.Parallel()
	b, in := streaming(t)
	in.deliver(t, "119240", []string{"user:1"}, "one", "<two> & \u2028")
	first := b.listen(t, streamPath).next(t, "notice")
	polled := b.get(t, pollPath+"&after="+first.id)
	pg := decodePage(t, polled.body)
	if len(pg.Notices) != 1 || pg.Notices[0].Title != "<two> & \u2028" {
		t.Fatalf("polled %s", polled.body)
	}
	l := b.listen(t, streamPath, "Last-Event-ID", first.id)
	two := l.next(t, "notice")
	if title := two.title(t); title != "<two> & \u2028" {
		t.Errorf("resumed with %q", title)
	}
	l.next(t, "unread")
	// What the client says last wins over what its address has said since it began.
	l = b.listen(t, streamPath+"&after="+first.id, "Last-Event-ID", pg.Cursor)
	l.next(t, "unread")
	in.deliver(t, "119240", []string{"user:1"}, "three")
	if three := l.next(t, "notice"); three.title(t) != "three" {
		t.Errorf("%v", three)
	}
}

func TestStreamsSpeakTheClientsLanguage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pg := onePage()
	pg.Cursor = someCursor
	b.inbox.put(pg)
	for language, want := range map[string]string{"": "Bin A-01 is at -3", "zh": "货位 A-01 为 -3"} {
		l := b.listen(t, streamPath, "Accept-Language", language)
		if e := l.next(t, "notice"); e.title(t) != want {
			t.Errorf("%q: %s", language, e.data)
		}
	}
}

func TestStreamsThatNeverBegin(t *testing.T) {
	t.Parallel()
	b, _ := streaming(t)
	for _, c := range []struct {
		path, header, value string
		status              int
		code                wire.Code
	}{
		{streamPath, "Accept", "application/xml", http.StatusNotAcceptable, wire.CodeNotAcceptable},
		{streamPath, "Accept", "text/event-stream;q=0, */*", http.StatusNotAcceptable, wire.CodeNotAcceptable},
		{streamPath, "Last-Event-ID", "nonsense", http.StatusBadRequest, wire.CodeBadCursor},
		{streamPath + "&after=nonsense", "", "", http.StatusBadRequest, wire.CodeBadCursor},
		{streamPath + "&wait=5s", "", "", http.StatusBadRequest, wire.CodeUnknownParameter},
		{streamPath + "&since=x", "", "", http.StatusBadRequest, wire.CodeBadSince},
		{"/api/v1/notices/stream?warehouse=119240", "", "", http.StatusBadRequest, wire.CodeMissingParameter},
	} {
		var headers []string
		if c.header != "" {
			headers = []string{c.header, c.value}
		}
		got := b.get(t, c.path, headers...)
		if prob := got.asProblem(t); got.status != c.status || prob.Code != string(c.code) {
			t.Errorf("%s with %s %s: %d %s", c.path, c.header, c.value, got.status, got.body)
		}
	}
	if n := b.deps.streams.Open(); n != 0 {
		t.Errorf("%d streams are open", n)
	}
}

func TestStreamsThatLeaveAreForgotten(t *testing.T) {
	t.Parallel()
	b, in := streaming(t)
	l := b.listen(t, streamPath)
	l.next(t, "unread")
	l.leave()
	testenv.Eventually(t, func() bool { return b.deps.streams.Open() == 0 }, 20*time.Second)
	in.deliver(t, "119240", []string{"user:1"}, "one")
	testenv.Eventually(t, func() bool { return slices.Contains(b.meter.all(), "stream gone") }, 20*time.Second)
	if strings.Contains(b.log.String(), "ERROR") {
		t.Error(b.log.String())
	}
}
