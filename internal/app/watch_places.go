package app

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// places are the folders whose changes may change rule files: where the files are, where they really are, and where the paths themselves stand.
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
