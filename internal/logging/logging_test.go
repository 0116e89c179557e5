package logging_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/logging"
)

// A change of the level counts at once, for loggers that were derived before it too.
func TestTheLevelChangesLive(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"text": "level=DEBUG msg=later rule=a\n",
		"json": `"level":"DEBUG","msg":"later","rule":"a"}` + "\n",
	} {
		var out bytes.Buffer
		log, level := logging.New(&out, format, slog.LevelWarn)
		derived := log.With("rule", "a")
		derived.Info("before")
		level.Set(slog.LevelDebug)
		derived.Debug("later")
		level.Set(slog.LevelError)
		derived.Warn("after")
		if got := out.String(); !strings.HasSuffix(got, want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %s", format, got)
		}
	}
}

func TestLevelNames(t *testing.T) {
	t.Parallel()
	if got := logging.Levels(); !slices.Equal(got, []string{"debug", "info", "warn", "error"}) {
		t.Errorf("levels %q", got)
	}
	for _, name := range logging.Levels() {
		if level, ok := logging.ParseLevel(name); !ok || logging.LevelName(level) != name {
			t.Errorf("%s: %v %v", name, level, ok)
		}
	}
	for _, name := range []string{"", "INFO", "warning", "debug-4"} {
		if level, ok := logging.ParseLevel(name); ok {
			t.Errorf("%q is %v", name, level)
		}
	}
}

// lines collects what bursts write.
type lines struct {
	mu   sync.Mutex
	list []string
}

func (l *lines) add(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, s)
}

// take returns the lines so far, and forgets them.
func (l *lines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.list
	l.list = nil
	return list
}

func TestBurst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out lines
		b := &logging.Burst{Window: 2 * time.Second, Own: 2, Rest: func(n int) { out.add(fmt.Sprint("and ", n)) }}
		events := func(from, to int) {
			for i := from; i <= to; i++ {
				b.Event(func() { out.add(fmt.Sprint(i)) })
			}
		}
		expect := func(when string, want ...string) {
			t.Helper()
			synctest.Wait()
			if got := out.take(); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		events(1, 5)
		expect("at once", "1", "2")
		time.Sleep(2 * time.Second) //nolint:forbidigo // inside a synctest bubble
		expect("after the window", "and 3")
		time.Sleep(time.Hour) //nolint:forbidigo // inside a synctest bubble
		expect("an hour later")
		events(6, 8)
		time.Sleep(2 * time.Second) //nolint:forbidigo // inside a synctest bubble
		expect("one is left over", "6", "7", "8")
		events(9, 12)
		expect("before the end", "9", "10")
		b.Flush()
		expect("at the end", "and 2")
		time.Sleep(time.Hour) //nolint:forbidigo // inside a synctest bubble
		b.Flush()
		expect("after the end")
	})
}

func TestFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out lines
		f := &logging.Failures{Window: time.Minute, Well: func() { out.add("well") }}
		fail := func(from, to int) {
			for i := from; i <= to; i++ {
				own := f.Fail(func() { out.add(fmt.Sprint(i)) }, func(n int) { out.add(fmt.Sprintf("%d, last %d", n, i)) })
				if own != (i == from && from%100 == 1) {
					t.Errorf("failure %d has its own line: %t", i, own)
				}
			}
		}
		after := func(d time.Duration, want ...string) {
			t.Helper()
			time.Sleep(d) //nolint:forbidigo // inside a synctest bubble
			synctest.Wait()
			if got := out.take(); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		}
		f.Recover() // Nothing has failed.
		fail(1, 99)
		after(time.Second, "1")
		after(time.Minute, "98, last 99")
		fail(2, 2)
		after(time.Minute, "1, last 2")
		after(time.Hour) // Nothing fails, but nothing has recovered either.
		fail(3, 4)
		f.Recover()
		after(time.Minute, "2, last 4")
		after(time.Minute, "well")
		after(time.Hour)
		fail(101, 101)
		f.Recover()
		after(time.Minute, "101", "well")
		fail(201, 203)
		f.Flush()
		after(time.Hour, "201", "2, last 203")
	})
}

// Ten thousand events from many goroutines make one line, and none is lost.
func TestABurstIsOneLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out lines
		b := &logging.Burst{Window: 2 * time.Second, Rest: func(n int) { out.add(fmt.Sprint(n)) }}
		var all sync.WaitGroup
		for range 10_000 {
			all.Go(func() { b.Event(func() { out.add("one") }) })
		}
		all.Wait()
		time.Sleep(2 * time.Second) //nolint:forbidigo // inside a synctest bubble
		synctest.Wait()
		if got := out.take(); !slices.Equal(got, []string{"10000"}) {
			t.Errorf("lines %q", got)
		}
	})
}
