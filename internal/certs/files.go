package certs

import (
	"bytes"
	"os"
	"slices"
	"sync"
	"time"
)

// Options says what a Files is made of.
type Options[T any] struct {
	Names []string                           // of the files; an empty one is not read, and its content is nil
	Parse func(contents [][]byte) (T, error) // in the order of Names
	Every time.Duration                      // the files are looked at no more often
	Told  func(inUse T, err error)           // hears once of each renewal (err is nil), and of each fault while it lasts
}

// Files is what a set of files holds. The contents are compared, not times or names, so that it does not matter how they are
// replaced: written over, renamed, or by a symlink that leads elsewhere.
type Files[T any] struct {
	o Options[T]

	mu     sync.Mutex
	looked time.Time
	tried  [][]byte // contents that were read last, good or not
	good   T
	fault  error // of what was read last
	unread bool  // the fault is that it could not be
}

// Open reads the files, which have to be good.
func Open[T any](o Options[T]) (*Files[T], error) {
	f := &Files[T]{o: o, looked: time.Now()}
	var err error
	if f.tried, err = f.read(); err != nil {
		return nil, err
	}
	f.good, err = o.Parse(f.tried)
	return f, err
}

// Get looks at the files and returns what they hold, or held last. The error is what is wrong with them now.
func (f *Files[T]) Get() (T, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.looked) >= f.o.Every {
		f.looked = now
		f.refresh()
	}
	return f.good, f.fault
}

func (f *Files[T]) refresh() {
	contents, err := f.read()
	if err == nil && !f.unread && slices.EqualFunc(contents, f.tried, bytes.Equal) {
		return
	}
	f.unread = err != nil
	var fresh T
	if err == nil {
		f.tried = contents
		fresh, err = f.o.Parse(contents)
	}
	news := err == nil || f.fault == nil || f.fault.Error() != err.Error()
	f.fault = err
	if err == nil {
		f.good = fresh
	}
	if news {
		f.o.Told(f.good, err)
	}
}

func (f *Files[T]) read() ([][]byte, error) {
	contents := make([][]byte, len(f.o.Names))
	for i, name := range f.o.Names {
		if name == "" {
			continue
		}
		var err error
		if contents[i], err = os.ReadFile(name); err != nil {
			return nil, err
		}
	}
	return contents, nil
}
