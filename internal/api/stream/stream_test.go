package stream

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"tallyman/internal/auth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type noMeter struct{}

func (noMeter) StreamOpened()      {}
func (noMeter) StreamEnded(string) {}

type noSource struct{}

func (noSource) Drop()    {}
func (noSource) Release() {}

// admitted is a stream that has not begun.
func admitted(t *testing.T) *Stream {
	t.Helper()
	hub, s := NewHub(Limits{}, noMeter{}, slog.New(slog.DiscardHandler)), &Stream{}
	if prob := hub.Enter(&auth.Identity{Subject: auth.Anonymous}, s, func() Source { return noSource{} }); prob != nil {
		t.Fatal(prob)
	}
	return s
}

// takenLine records what was sent. Each send takes some time, in which no other goroutine may send.
type takenLine struct {
	t *testing.T

	mu     sync.Mutex
	busy   bool
	closed int
	sent   []string
}

func (l *takenLine) send(parts net.Buffers, _ time.Duration) error {
	l.mu.Lock()
	if l.busy || l.closed > 0 {
		l.t.Errorf("two send at a time, or after the end: %q", parts)
	}
	l.busy = true
	l.mu.Unlock()
	time.Sleep(beatEvery / 3) //nolint:forbidigo // in a synctest bubble
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, part := range parts {
		l.sent = append(l.sent, string(part))
	}
	l.busy = false
	return nil
}

func (l *takenLine) hurry(time.Duration) {}

func (l *takenLine) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed++
}

// all returns what was sent after the greeting, without heartbeats.
func (l *takenLine) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.sent[1:]), func(part string) bool { return part == string(heartbeat) })
}

// A page may have nothing for a client, as where a filter lets nothing through. Who brings the stream to the present
// stays the one who writes all the same.
func TestAStreamHasOneWriter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, l := admitted(t), &takenLine{t: t}
		s.begin(l)
		s.Flush()
		for i := range 3 {
			s.Flush() // nothing came
			s.Push([]byte(fmt.Sprint(i, " of who catches up\n")))
			synctest.Wait() // whoever would send it by now does
			s.Push([]byte(fmt.Sprint(i, " of another\n")))
			s.Flush()
		}
		s.write()
		s.Push([]byte("later\n"))
		time.Sleep(time.Minute) //nolint:forbidigo // in a synctest bubble
		text := strings.Join(l.all(), "")
		want := ""
		for i := range 3 {
			want += fmt.Sprintf("%d of who catches up\n%d of another\n", i, i)
		}
		if text != want+"later\n" {
			t.Errorf("sent %q", text)
		}
		s.End(Shutdown)
		<-s.done
	})
}

// A stream that ends while it is brought to the present is closed once, by who does that. Twice ends the process.
func TestAStreamIsClosedOnce(t *testing.T) {
	t.Parallel()
	for name, flushes := range map[string]int{"nothing is sent yet": 0, "the greeting is sent": 1, "nothing has come since": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, l := admitted(t), &takenLine{t: t}
				s.begin(l)
				for range flushes {
					s.Flush()
				}
				s.End(Shutdown)
				time.Sleep(time.Minute) //nolint:forbidigo // in a synctest bubble
				if l.closed != 0 {
					t.Error("the line is closed, and somebody is about to write")
				}
				s.Flush()
				s.write()
				s.Abandon()
				<-s.done
				if got := l.sent[len(l.sent)-1]; l.closed != 1 || !strings.Contains(got, "event: end\n") {
					t.Errorf("closed %d times, behind %q", l.closed, got)
				}
			})
		})
	}
}

// Where something was dropped because too much waits, the client must not get what came after it: it would go on behind
// the gap.
func TestNothingFollowsAGap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, l := admitted(t), &takenLine{t: t}
		s.begin(l)
		s.write()
		s.Push([]byte("sent\n"))
		synctest.Wait() // it is being sent
		s.mu.Lock()     // whoever ends the stream has to wait
		s.add([]byte(strings.Repeat("x", maxBacklog+1)))
		s.add([]byte("dropped\n"))
		before, _ := s.take() // as the writer does
		s.add([]byte("later\n"))
		if len(before) != 1 || s.queue != nil {
			t.Errorf("%d parts wait, and then %q", len(before), s.queue)
		}
		s.mu.Unlock()
		<-s.done
		if got := l.all(); len(got) != 1 || got[0] != "sent\n" || !s.Over() {
			t.Errorf("%q", got)
		}
	})
}

// pipedLine is a line over a connection whose client reads only on demand.
func pipedLine(t *testing.T, s *Stream) (l line, client net.Conn) {
	t.Helper()
	client, server := net.Pipe()
	opened := make(chan line)
	go func() {
		l, err := newConnLine(server, http.Header{}, func() { s.End(Gone) })
		if err != nil {
			t.Error(err)
		}
		opened <- l
	}()
	for head := ""; !strings.HasSuffix(head, "\r\n\r\n"); {
		head += readSome(t, client, 1)
	}
	return <-opened, client
}

func readSome(t *testing.T, from io.Reader, n int) string {
	t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(from, b); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The event end behind half an event would be one with it, for the client: what came of the half is lost, and its id
// counts.
func TestNoFarewellFollowsHalfAnEvent(t *testing.T) {
	t.Parallel()
	const event = "id: 17\nevent: notice\ndata: {}\n\n"
	for name, reads := range map[string]bool{"a client that reads no more": false, "one that is late": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := admitted(t)
				l, client := pipedLine(t, s)
				s.begin(l)
				go s.write()
				if got := readSome(t, client, len("retry: 1234\n\n")); !strings.HasPrefix(got, "retry: ") {
					t.Fatalf("%q", got)
				}
				s.Push([]byte(event))
				half := readSome(t, client, len(event)/2)
				s.End(Shutdown)
				if !reads {
					time.Sleep(2 * farewellTime) //nolint:forbidigo // in a synctest bubble
				}
				rest, err := io.ReadAll(client)
				if err != nil {
					t.Fatal(err)
				}
				<-s.done
				switch got := half + string(rest); {
				case !reads && got != event[:len(half)]:
					t.Errorf("the client has %q", got)
				case reads && (!strings.HasPrefix(got, event+"retry: ") || !strings.HasSuffix(got, "event: end\ndata: {\"reason\":\"shutdown\"}\n\n")):
					t.Errorf("the client has %q", got)
				}
				_ = client.Close()
			})
		})
	}
}

// Whoever ends a stream whose client has half an event has nothing to say to it, also before the one who sent that half
// ends the stream.
func TestAStreamThatIsCutEndsWithoutAWord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, l := admitted(t), &takenLine{t: t}
		s.begin(l)
		s.Flush()
		s.mu.Lock()
		s.cut = true
		s.mu.Unlock()
		s.End(Shutdown)
		s.write()
		<-s.done
		if got := l.all(); len(got) != 0 || l.closed != 1 {
			t.Errorf("sent %q, closed %d times", got, l.closed)
		}
	})
}
