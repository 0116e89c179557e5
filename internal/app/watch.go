package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"tallyman/rules"
)

const (
	settleFor  = 200 * time.Millisecond // files that change are read when they have been left alone for so long
	settleMost = time.Second            // or when the first change is so old
	lookEvery  = 5 * time.Second        // network drives and full queues lose events
)

// watchRules reads the rule files again when they change, and on each hangup, until the context ends.
func (a *App) watchRules(ctx context.Context) {
	w := &watch{paths: a.cfg.Rules.Paths}
	events, err := w.open()
	if err != nil {
		a.log.Warn("changes of rule files are seen late: the system does not tell of them", "every", lookEvery, "error", err)
	}
	defer w.close()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var settled <-chan time.Time
	var first time.Time
	for {
		why := "changed"
		select {
		case <-ctx.Done():
			return
		case e := <-events:
			if e.Op == fsnotify.Chmod {
				continue
			}
			if settled == nil {
				first = time.Now()
			}
			settled = time.After(min(settleFor, max(settleMost-time.Since(first), 0)))
			continue
		case <-a.opts.Hangup:
			why = "hangup"
		case <-settled:
		case <-look.C:
		}
		settled = nil
		w.follow()
		if why == "changed" && fingerprint(w.paths) == a.book.fingerprint() {
			continue
		}
		if _, err := a.reload(ctx, why); err != nil && ctx.Err() == nil {
			a.log.Error("the rule files could not be read again; the rules go on as they were", "error", err)
		}
	}
}

// watch has the system tell of changes in every folder that rule files are in or are linked from.
type watch struct {
	paths  []string
	system *fsnotify.Watcher // nil where there is none
}

func (w *watch) open() (<-chan fsnotify.Event, error) {
	system, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w.system = system
	go func() {
		for range system.Errors { // an overflow; the next look finds what was lost
			continue
		}
	}()
	w.follow()
	return system.Events, nil
}

func (w *watch) close() {
	if w.system != nil {
		_ = w.system.Close() // nothing is written
	}
}

// follow watches the folders as they are now. A folder that was replaced is watched anew, since the system knows folders, not names.
func (w *watch) follow() {
	if w.system == nil {
		return
	}
	wanted := folders(w.paths)
	for _, name := range w.system.WatchList() {
		if !slices.Contains(wanted, name) {
			_ = w.system.Remove(name) // it may be gone
		}
	}
	for _, name := range wanted {
		_ = w.system.Add(name) // what cannot be watched is looked at
	}
}

// folders are those whose changes may change rule files: where the files are, where they really are, and where the paths themselves stand.
func folders(paths []string) []string {
	var list []string
	add := func(path string) {
		list = append(list, path, realPath(path))
	}
	for _, p := range paths {
		add(filepath.Dir(filepath.Clean(p)))
		_ = filepath.WalkDir(realPath(p), func(path string, e os.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil //nolint:nilerr // the next look tries again
			case e.IsDir() && path != realPath(p) && strings.HasPrefix(e.Name(), "."):
				return filepath.SkipDir
			case e.IsDir():
				add(path)
			case e.Type()&os.ModeSymlink != 0:
				add(filepath.Dir(realPath(path)))
			}
			return nil
		})
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// realPath follows links; a path that does not exist stays as it is.
func realPath(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
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
