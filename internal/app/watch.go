package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"tallyman/internal/ledger"
	"tallyman/rules"
)

const (
	settleFor  = 200 * time.Millisecond // files that change are read when they have been left alone for so long
	settleMost = time.Second            // or when the first change is so old
	lookEvery  = 5 * time.Second        // network drives and full queues lose events
)

// watchRules reads the rule files again when they change, and on each hangup, until the context ends.
func (a *App) watchRules(ctx context.Context) {
	w := &fileWatch{paths: a.cfg.Rules.Paths, log: a.log, every: lookEvery}
	w.open()
	defer w.close()
	w.run(ctx, a.opts.Hangup, a.book.fingerprint, func(why string) {
		if _, err := a.book.reload(ctx, why, a.book.author(ledger.ViaFile)); err != nil && ctx.Err() == nil {
			a.log.Error("the rule files could not be read again; the rules go on as they were", "error", err)
		}
	})
}

// fileWatch tells when rule files change. The system tells it of changes in every folder that they are in or are linked
// from, and it looks by itself now and then.
type fileWatch struct {
	paths []string
	log   *slog.Logger
	every time.Duration // between two looks

	system *fsnotify.Watcher // nil where there is none
	events <-chan fsnotify.Event
	lost   <-chan error // that events were lost
	places places       // that are watched
	late   bool         // some of them cannot be
}

func (w *fileWatch) open() {
	system, err := fsnotify.NewWatcher()
	if err != nil {
		w.tellLate(err)
		return
	}
	w.system, w.events, w.lost = system, system.Events, system.Errors
	w.follow()
}

func (w *fileWatch) close() {
	if w.system != nil {
		_ = w.system.Close() // nothing is written
	}
}

// run calls read when the files are others than known says, and on each hangup, until the context ends. Files that
// change are given a moment to come to rest: what is half written is not what was meant.
func (w *fileWatch) run(ctx context.Context, hangup <-chan os.Signal, known func() string, read func(why string)) {
	look := time.NewTicker(w.every)
	defer look.Stop()
	var settled <-chan time.Time // nil while nothing has changed
	var first time.Time
	stir := func() {
		if settled == nil {
			first = time.Now()
		}
		settled = time.After(min(settleFor, max(settleMost-time.Since(first), 0)))
	}
	if fingerprint(w.paths) != known() { // since they were read, and before they were watched
		stir()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-w.events:
			if w.places.matter(e) {
				stir()
			}
		case err := <-w.lost:
			w.log.Info("the system has lost changes of files; they are looked at", "error", err)
			stir()
		case <-look.C:
			w.follow()
			if settled == nil && fingerprint(w.paths) != known() {
				stir()
			}
		case <-hangup:
			settled = nil
			w.follow()
			read("hangup")
		case <-settled:
			settled = nil
			w.follow()
			if fingerprint(w.paths) != known() {
				read("changed")
			}
		}
	}
}

// follow watches the folders as they are now. A folder that was replaced is watched anew, since the system knows
// folders, not names.
func (w *fileWatch) follow() {
	if w.system == nil {
		return
	}
	w.places = placesOf(w.paths)
	for _, name := range w.system.WatchList() {
		if !w.places.folders[name] {
			_ = w.system.Remove(name) // it may be gone
		}
	}
	var failed error
	for name := range w.places.folders {
		if err := w.system.Add(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = fmt.Errorf("%s: %w", name, err)
		}
	}
	if failed == nil {
		w.late = false
	} else {
		w.tellLate(failed)
	}
}

// tellLate says once that the system does not tell of changes.
func (w *fileWatch) tellLate(err error) {
	if !w.late {
		w.log.Warn("changes of rule files are seen late: the system does not tell of all of them", "every", w.every, "error", err)
	}
	w.late = true
}

// fingerprint changes with the names and the contents of the rule files.
func fingerprint(paths []string) string {
	sum := sha256.New()
	for _, p := range paths {
		files, err := rules.Files(p)
		fmt.Fprintf(sum, "%v\n", err)
		for _, path := range files {
			text, err := os.ReadFile(path)
			fmt.Fprintf(sum, "%q %d %v\n", path, len(text), err)
			sum.Write(text)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// places are the folders whose changes may change rule files: where the files are, where they really are, and where the
// paths themselves stand.
type places struct {
	folders map[string]bool // by name; two may be names of one folder
	beside  map[string]bool // those of them in which only the paths count: the ledger may stand beside the rules, and is written all the time
	names   map[string]bool // of the paths in those
}

func placesOf(paths []string) places {
	p := places{folders: map[string]bool{}, beside: map[string]bool{}, names: map[string]bool{}}
	whole := map[string]bool{} // by their real names
	add := func(folder string) {
		whole[realPath(folder)] = true
		p.folders[folder], p.folders[realPath(folder)] = true, true
	}
	for _, path := range paths {
		path = filepath.Clean(path)
		parent := filepath.Dir(path)
		if info, err := os.Lstat(path); err == nil && !info.IsDir() {
			add(parent) // a file, or a link, which may go through another one there
		} else {
			for _, folder := range []string{parent, realPath(parent)} {
				p.folders[folder], p.beside[folder] = true, true
				p.names[filepath.Join(folder, filepath.Base(path))] = true
			}
		}
		inside(realPath(path), add)
	}
	for folder := range p.beside {
		if whole[realPath(folder)] {
			delete(p.beside, folder)
		}
	}
	return p
}

// inside calls add for each folder that holds rule files at or below root, and for those that they are linked from.
func inside(root string, add func(folder string)) {
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // the next look tries again
		case e.IsDir() && path != root && strings.HasPrefix(e.Name(), "."):
			return filepath.SkipDir
		case e.IsDir():
			add(path)
		case path == root || e.Type()&fs.ModeSymlink != 0:
			add(filepath.Dir(realPath(path)))
		}
		return nil
	})
}

// realPath follows links; a path that does not exist stays as it is.
func realPath(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// matter tells whether an event may be about rule files.
func (p *places) matter(e fsnotify.Event) bool {
	name := filepath.Clean(e.Name)
	return e.Op != fsnotify.Chmod && (!p.beside[filepath.Dir(name)] || p.names[name])
}
