package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// folder is a folder with rule files that change, and a watch over some of them that never looks by itself.
type folder struct {
	t     *testing.T
	dir   string
	mu    sync.Mutex
	known string
	reads chan struct{}
}

func newFolder(t *testing.T) *folder {
	t.Helper()
	f := &folder{t: t, dir: t.TempDir(), reads: make(chan struct{}, 100)}
	f.must(os.Mkdir(f.at("rules"), 0o750))
	f.write("rules/stock.yaml", "1")
	return f
}

func (f *folder) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *folder) at(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

func (f *folder) write(name, text string) {
	f.t.Helper()
	f.must(os.MkdirAll(filepath.Dir(f.at(name)), 0o750))
	f.must(os.WriteFile(f.at(name), []byte(text), 0o600))
}

func (f *folder) rename(from, to string) { f.t.Helper(); f.must(os.Rename(f.at(from), f.at(to))) }

func (f *folder) link(to, name string) { f.t.Helper(); f.must(os.Symlink(to, f.at(name))) }

func (f *folder) remove(name string) { f.t.Helper(); f.must(os.RemoveAll(f.at(name))) }

// seen is the fingerprint of what was read last.
func (f *folder) seen() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known
}

func (f *folder) read(w *fileWatch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known = fingerprint(w.paths)
	f.reads <- struct{}{}
}

// watch watches the paths until the test ends.
func (f *folder) watch(paths ...string) {
	f.t.Helper()
	w := &fileWatch{log: slog.New(slog.DiscardHandler), every: time.Hour}
	for _, p := range paths {
		w.paths = append(w.paths, f.at(p))
	}
	f.known = fingerprint(w.paths)
	w.open()
	ctx, cancel := context.WithCancel(context.Background())
	begun, ended := make(chan struct{}), make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	go func() {
		defer close(ended)
		defer w.close()
		w.run(ctx, nil, func() string { defer begin(); return f.seen() }, func(string) { f.read(w) })
	}()
	f.t.Cleanup(func() { cancel(); <-ended })
	<-begun
}

// isRead waits until what is there now was read.
func (f *folder) isRead(what string, paths ...string) {
	f.t.Helper()
	for i := range paths {
		paths[i] = f.at(paths[i])
	}
	end := time.After(20 * time.Second)
	for f.seen() != fingerprint(paths) {
		select {
		case <-f.reads:
		case <-end:
			f.t.Fatalf("%s: nobody has told of it", what)
		}
	}
}

// However files are replaced, the system tells of it, and of what changes after it.
func TestChangesThatTheSystemTellsOf(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(f *folder){
		"written in place": func(f *folder) { f.write("rules/stock.yaml", "2") },
		"added":            func(f *folder) { f.write("rules/more.yaml", "2") },
		"removed":          func(f *folder) { f.remove("rules/stock.yaml") },
		"renamed over it": func(f *folder) {
			f.write("rules/.stock.swp", "2")
			f.rename("rules/.stock.swp", "rules/stock.yaml")
		},
		"renamed away and written anew": func(f *folder) {
			f.rename("rules/stock.yaml", "rules/stock.yaml~")
			f.write("rules/stock.yaml", "2")
			f.remove("rules/stock.yaml~")
		},
		"the folder was removed and made again": func(f *folder) {
			f.remove("rules")
			f.write("rules/stock.yaml", "2")
		},
		"another folder took its place": func(f *folder) {
			f.write("next/stock.yaml", "2")
			f.rename("rules", "last")
			f.rename("next", "rules")
		},
		"a folder in it":             func(f *folder) { f.write("rules/west/cold/stock.yaml", "2") },
		"a folder was moved into it": func(f *folder) { f.write("west/a.yaml", "2"); f.rename("west", "rules/west") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			f.watch("rules")
			change(f)
			f.isRead("at first", "rules")
			f.write("rules/stock.yaml", "3")
			f.isRead("after it", "rules")
		})
	}
}

// configMap is a folder as Kubernetes makes it of a ConfigMap.
func (f *folder) configMap() {
	f.write("map/..1/stock.yaml", "1")
	f.link("..1", "map/..data")
	f.link("..data/stock.yaml", "map/stock.yaml")
}

// swap is how it changes that.
func (f *folder) swap() {
	f.write("map/..2/stock.yaml", "2")
	f.link("..2", "map/..tmp")
	f.rename("map/..tmp", "map/..data")
}

func TestChangesBehindLinks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path           string
		before, change func(f *folder)
	}{
		"a ConfigMap": {"map", (*folder).configMap, func(f *folder) {
			f.swap()
			f.remove("map/..1")
		}},
		"one file of a ConfigMap": {"map/stock.yaml", (*folder).configMap, (*folder).swap},
		"a folder that is a link": {
			"current",
			func(f *folder) { f.link("rules", "current") },
			func(f *folder) {
				f.write("next/stock.yaml", "2")
				f.link("next", "tmp")
				f.rename("tmp", "current")
			},
		},
		"a folder behind a link":    {"current", func(f *folder) { f.link("rules", "current") }, func(f *folder) { f.write("rules/stock.yaml", "2") }},
		"a file that is a link":     {"one.yaml", func(f *folder) { f.link("rules/stock.yaml", "one.yaml") }, func(f *folder) { f.write("rules/stock.yaml", "2") }},
		"a link in a folder":        {"more", func(f *folder) { f.must(os.Mkdir(f.at("more"), 0o750)); f.link("../rules/stock.yaml", "more/a.yaml") }, func(f *folder) { f.write("rules/stock.yaml", "2") }},
		"a path that was not there": {"later", func(*folder) {}, func(f *folder) { f.write("later/a.yaml", "2") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			c.before(f)
			f.watch(c.path)
			c.change(f)
			f.isRead("behind a link", c.path)
		})
	}
}

// A folder of rules often stands beside the ledger, which is written all the time.
func TestPlacesThatMatter(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.link("rules", "current")
	for _, c := range []struct {
		paths  []string
		name   string
		op     fsnotify.Op
		matter bool
	}{
		{[]string{"rules"}, "tallyman.db-wal", fsnotify.Write, false},
		{[]string{"rules", "later"}, "tallyman.db-wal", fsnotify.Write, false},
		{[]string{"rules"}, "rules", fsnotify.Rename, true},
		{[]string{"later"}, "later", fsnotify.Create, true},
		{[]string{"rules"}, "rules/stock.yaml", fsnotify.Write, true},
		{[]string{"rules"}, "rules/stock.yaml", fsnotify.Chmod, false},
		{[]string{"rules"}, "rules/stock.yaml", fsnotify.Chmod | fsnotify.Remove, true},
		{[]string{"current"}, "anything", fsnotify.Create, true},
		{[]string{"rules/stock.yaml"}, "rules/..data", fsnotify.Create, true},
		{[]string{"rules", "."}, "more.yaml", fsnotify.Create, true},
	} {
		var paths []string
		for _, p := range c.paths {
			paths = append(paths, f.at(p))
		}
		p := placesOf(paths)
		if got := p.matter(fsnotify.Event{Name: f.at(c.name), Op: c.op}); got != c.matter {
			t.Errorf("%v: %s %s matters: %v", c.paths, c.name, c.op, got)
		}
	}
}

// Where the system refuses to tell of a folder, that is said once.
func TestChangesThatAreSeenLate(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	var log strings.Builder
	w := &fileWatch{paths: []string{f.at("rules")}, log: slog.New(slog.NewTextHandler(&log, nil)), every: time.Hour}
	w.open()
	defer w.close()
	w.paths = append(w.paths, f.at("later/rules"))
	if w.follow(); log.Len() > 0 {
		t.Errorf("of a folder that is not there: %s", log.String())
	}
	w.close()
	w.follow()
	w.follow()
	if got := log.String(); strings.Count(got, "sees changes late") != 1 || !strings.Contains(got, fsnotify.ErrClosed.Error()) {
		t.Errorf("%s", got)
	}
	if !errors.Is(w.system.Add(f.dir), fsnotify.ErrClosed) {
		t.Error("the system still tells")
	}
}

// settling is a watch in a bubble, whose events the test makes up.
type settling struct {
	*folder
	events chan fsnotify.Event
	lost   chan error
	hangup chan os.Signal
	whys   []string
}

// settles runs a test in a bubble with a watch that looks every five seconds. before, if there is any, happens when the
// files were read and are not watched yet.
func settles(t *testing.T, before, test func(s *settling)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &settling{folder: newFolder(t), events: make(chan fsnotify.Event), lost: make(chan error), hangup: make(chan os.Signal)}
		w := &fileWatch{paths: []string{s.at("rules")}, log: slog.New(slog.DiscardHandler), every: lookEvery, events: s.events, lost: s.lost}
		s.known = fingerprint(w.paths)
		if before != nil {
			before(s)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go w.run(ctx, s.hangup, s.seen, func(why string) {
			s.read(w)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.whys = append(s.whys, why)
		})
		test(s)
	})
}

// after lets time pass and checks how often the files were read by then.
func (s *settling) after(d time.Duration, what string, want int) {
	s.t.Helper()
	<-time.After(d) // of the bubble's clock
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := len(s.whys); got != want {
		s.t.Errorf("%s: read %d times, want %d", what, got, want)
	}
}

// event tells of the file.
func (s *settling) event() {
	s.events <- fsnotify.Event{Name: s.at("rules/stock.yaml"), Op: fsnotify.Write}
}

func TestManyChangesAreReadOnce(t *testing.T) {
	t.Parallel()
	settles(t, nil, func(s *settling) {
		for range 500 {
			s.event()
			<-time.After(time.Millisecond)
		}
		s.write("rules/stock.yaml", "2")
		s.event()
		s.after(settleFor-time.Millisecond, "they are given a moment", 0)
		s.after(2*time.Millisecond, "they have settled", 1)
		s.event()
		s.after(time.Second, "the same content", 1)
	})
}

// Who never stops writing does not keep others waiting.
func TestChangesWithoutAnEnd(t *testing.T) {
	t.Parallel()
	settles(t, nil, func(s *settling) {
		s.write("rules/stock.yaml", "2")
		for range 11 {
			s.event()
			<-time.After(settleFor / 2)
		}
		s.after(0, "a second after the first", 1)
	})
}

// A file that is being written when the watch looks is given the same moment.
func TestLookWaitsForWhatIsBeingWritten(t *testing.T) {
	t.Parallel()
	settles(t, nil, func(s *settling) {
		s.after(lookEvery-settleFor/2, "before the look", 0)
		s.write("rules/stock.yaml", "")
		s.event()
		s.after(settleFor/2+time.Millisecond, "at the look", 0)
		s.write("rules/stock.yaml", "2")
		s.event()
		s.after(settleFor+time.Millisecond, "it has settled", 1)
	})
}

func TestChangesThatNobodyTellsOf(t *testing.T) {
	t.Parallel()
	settles(t, nil, func(s *settling) {
		s.after(time.Second, "nothing has changed", 0)
		s.write("rules/stock.yaml", "2")
		s.after(lookEvery-time.Second+time.Millisecond, "found, and given a moment", 0)
		s.after(settleFor, "read", 1)
		s.write("rules/stock.yaml", "3")
		s.lost <- fsnotify.ErrEventOverflow
		s.after(settleFor+time.Millisecond, "events were lost", 2)
		s.write("rules/stock.yaml", "4")
		s.hangup <- os.Interrupt
		s.after(time.Millisecond, "a hangup waits for nothing", 3)
		if s.whys[2] != "hangup" {
			t.Errorf("%v", s.whys)
		}
	})
}

func TestChangesBeforeTheWatchBegins(t *testing.T) {
	t.Parallel()
	settles(t, func(s *settling) { s.write("rules/stock.yaml", "2") }, func(s *settling) {
		s.after(settleFor+time.Millisecond, "at the start", 1)
	})
}
