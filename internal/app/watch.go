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
	settleFor  = 200 * time.Millisecond // Changed files are read when no file has changed for this time,
	settleMost = time.Second            // or when the first change is this old.
	// The files are compared this often, because network drives and full queues lose events.
	lookEvery = 5 * time.Second
)

// watchRules reads the rule files again when they change, and on each hangup, until the context ends.
func (a *App) watchRules(ctx context.Context) {
	w := &fileWatch{paths: a.cfg.Rules.Paths, log: a.log, every: lookEvery}
	w.open()
	defer w.close()
	w.run(ctx, a.opts.Hangup, a.book.fingerprint, func(why string) {
		a.opts.Manager.Reload(func() {
			if _, err := a.book.reload(ctx, why, a.book.author(ledger.ViaFile)); err != nil && ctx.Err() == nil {
				a.log.Error("The rule files were not put in force. The rules run as before.", "error", err)
			}
		})
	})
}

// fileWatch notices changes of the rule files. The operating system reports changes in every folder of the files, and
// in every folder with a link to them. In addition fileWatch compares the files at intervals.
type fileWatch struct {
	paths []string
	log   *slog.Logger
	every time.Duration // The time between two comparisons.

	system *fsnotify.Watcher // Nil where the watcher could not be opened.
	events <-chan fsnotify.Event
	lost   <-chan error // Reports that events were lost.
	places places       // The folders that are watched.
	late   bool         // Some folders cannot be watched, so their changes are seen late.
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
		_ = w.system.Close() // The watcher only reads, so an error has no consequence.
	}
}

// run calls read when the files differ from the fingerprint that known returns, and on each hangup, until the context
// ends. After a change it waits for settleFor, so that it does not read a half-written file.
func (w *fileWatch) run(ctx context.Context, hangup <-chan os.Signal, known func() string, read func(why string)) {
	look := time.NewTicker(w.every)
	defer look.Stop()
	var settled <-chan time.Time // Nil while no change waits.
	var first time.Time
	stir := func() {
		if settled == nil {
			first = time.Now()
		}
		settled = time.After(min(settleFor, max(settleMost-time.Since(first), 0)))
	}
	if fingerprint(w.paths) != known() { // The files may have changed after they were read and before the watch began.
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
			w.log.Info("The operating system has lost events of rule files. The node compares the files itself.", "error", err)
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

// follow watches the folders as they are now. The system watches a folder and not its name, so a replaced folder must
// be watched again.
func (w *fileWatch) follow() {
	if w.system == nil {
		return
	}
	w.places = placesOf(w.paths)
	for _, name := range w.system.WatchList() {
		if !w.places.folders[name] {
			_ = w.system.Remove(name) // An error means the folder is gone.
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

// tellLate logs once that the system does not report every change.
func (w *fileWatch) tellLate(err error) {
	if !w.late {
		w.log.Warn("The operating system does not report every change of rule files. The node sees changes late, by comparing the files.", "every", w.every, "error", err)
	}
	w.late = true
}

// fingerprint returns a hash of the names and contents of the rule files.
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

// places are the folders to watch. They are the folders of the rule files, the targets of links, and the folders with
// the configured paths.
type places struct {
	folders map[string]bool // Keyed by name. Two names may belong to one folder.
	// beside lists the folders in which only the configured paths count. The ledger may stand in such a folder, and the
	// node writes the ledger all the time.
	beside map[string]bool
	names  map[string]bool // The configured paths in beside.
}

func placesOf(paths []string) places {
	p := places{folders: map[string]bool{}, beside: map[string]bool{}, names: map[string]bool{}}
	whole := map[string]bool{} // The folders in which every file counts, keyed by real name.
	add := func(folder string) {
		whole[realPath(folder)] = true
		p.folders[folder], p.folders[realPath(folder)] = true, true
	}
	for _, path := range paths {
		path = filepath.Clean(path)
		parent := filepath.Dir(path)
		if info, err := os.Lstat(path); err == nil && !info.IsDir() {
			add(parent) // A file or a link. A link may lead to another link in the same folder.
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

// inside calls add for each folder at or below root that holds rule files, and for the target folders of links.
func inside(root string, add func(folder string)) {
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // The next comparison tries again.
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

// realPath follows links. realPath returns a path that does not exist unchanged.
func realPath(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// matter tells whether an event may concern rule files.
func (p *places) matter(e fsnotify.Event) bool {
	name := filepath.Clean(e.Name)
	return e.Op != fsnotify.Chmod && (!p.beside[filepath.Dir(name)] || p.names[name])
}
