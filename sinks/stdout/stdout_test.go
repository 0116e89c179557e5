package stdout_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
	"tallyman/internal/text/texttest"
	"tallyman/sinks/sinktest"
	"tallyman/sinks/stdout"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// terminal is an output that fails when a test wants it to.
type terminal struct {
	mu     sync.Mutex
	answer sinktest.Answer
	asked  int
	b      bytes.Buffer
}

var errClosed = errors.New("broken pipe")

// Write fails if the test wants it to.
func (w *terminal) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	if w.answer == sinktest.Fail {
		return 0, errClosed
	}
	return w.b.Write(p)
}

func (w *terminal) lines() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.FieldsFunc(w.b.String(), func(r rune) bool { return r == '\n' })
}

func TestPushSuite(t *testing.T) {
	t.Parallel()
	sinktest.RunPush(t, func(t *testing.T) sinktest.PushFixture {
		t.Helper()
		w := &terminal{answer: sinktest.Take}
		c, err := stdout.New(w, stdout.JSON)
		if err != nil {
			t.Fatal(err)
		}
		return sinktest.PushFixture{
			Pusher: c,
			Lacks:  []sinktest.Answer{sinktest.Refuse, sinktest.Later, sinktest.Break, sinktest.Lose, sinktest.Hang},
			Answer: func(_ testing.TB, a sinktest.Answer) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.answer = a
			},
			Keys: func(t testing.TB) []string {
				t.Helper()
				var ids []string
				for _, line := range w.lines() {
					var n struct{ ID string }
					if err := json.Unmarshal([]byte(line), &n); err != nil {
						t.Errorf("%v in %s", err, line)
					}
					ids = append(ids, n.ID)
				}
				return ids
			},
			Asked: func() int {
				w.mu.Lock()
				defer w.mu.Unlock()
				return w.asked
			},
		}
	})
}

func TestTextIsOneLineThatATerminalShows(t *testing.T) {
	t.Parallel()
	w := &terminal{}
	c, err := stdout.New(w, stdout.Text)
	if err != nil {
		t.Fatal(err)
	}
	n := &notice.Notice{
		Type: "REP_NOTICE", Warehouse: "119240", Status: notice.Firing, Priority: 4, Title: "Bin A-01\x1b[2J is at -3",
		Body: "first\nsecond\xff", CreatedAt: time.Date(2026, 6, 1, 0, 10, 0, 0, time.UTC),
	}
	if err := c.Push(t.Context(), []delivery.Delivery{{Seq: 1, Notice: n}}); err != nil {
		t.Fatal(err)
	}
	const want = "2026-06-01T00:10:00Z  119240  REP_NOTICE  firing  !!!!  Bin A-01[U+001B][2J is at -3  — first second\uFFFD"
	if got := w.lines(); len(got) != 1 || got[0] != want {
		t.Errorf("%q", got)
	}
	n.Title, n.Body, n.Warehouse = texttest.All(), texttest.All(), texttest.All()
	if err := c.Push(t.Context(), []delivery.Delivery{{Seq: 1, Notice: n}}); err != nil {
		t.Fatal(err)
	}
	if got := w.lines(); len(got) != 2 {
		t.Errorf("%d lines", len(got))
	} else {
		texttest.Marked(t, "stdout", got[1])
	}
}

func TestWhatCannotBeWritten(t *testing.T) {
	t.Parallel()
	if _, err := stdout.New(nil, stdout.JSON); err == nil {
		t.Error("nothing to write to is taken")
	}
	if _, err := stdout.New(&terminal{}, "xml"); err == nil {
		t.Error("another format is taken")
	}
}
