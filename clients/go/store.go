package tallyman

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Remember is how long a store keeps the id of a notice that was handled. After a reset the service sends the last three days again, and what was handled
// is left out.
const Remember = 4 * 24 * time.Hour

// Store keeps the place of a follower. [FileStore] keeps it in a file; a program that has a database may keep it there. One follower uses a store at a time.
type Store interface {
	// Load returns the place that was saved last. Where nothing was saved it is the zero Place.
	Load(ctx context.Context) (Place, error)
	// Save keeps a step of the follower. When it returns, the step must survive a kill of the process.
	Save(ctx context.Context, s Step) error
}

// Place is where a follower is.
type Place struct {
	Cursor  string   // empty: it begins with the last three days
	Handled []string // the notices that were handled within Remember
}

// Step is how a follower goes on: to a cursor, or past one notice, or both. It follows a handler that returned without an error.
type Step struct {
	Cursor  string    // from now on
	Handled string    // the id of a notice that was handled; empty: none
	At      time.Time // when that was
}

// FileStore keeps the place in a file of JSON lines, to which each step adds one. A line that a kill cut off counts for nothing. The file is written anew when
// it is loaded, and when most of it is old.
type FileStore struct {
	path string

	mu     sync.Mutex
	cursor string
	live   map[string]int64 // when each notice was handled, in s since 1970
	lines  int              // of the file
}

// NewFileStore keeps the place in the file, which it makes where there is none.
func NewFileStore(path string) *FileStore { return &FileStore{path: path} }

// line is one of the file.
type line struct {
	Cursor  *string `json:"cursor,omitempty"` // nil: as before
	Handled string  `json:"handled,omitempty"`
	At      int64   `json:"at,omitempty"`
}

// Load reads the file. A file that somebody else has made is an error, and stays as it is.
func (s *FileStore) Load(context.Context) (Place, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cursor, s.live = "", map[string]int64{}
	file, err := os.Open(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Place{}, fmt.Errorf("load the cursor: %w", err)
	}
	if err == nil {
		err = errors.Join(s.read(file), file.Close())
		if err != nil {
			return Place{}, fmt.Errorf("load the cursor: %s: %w", s.path, err)
		}
	}
	if err := s.rewrite(); err != nil {
		return Place{}, err
	}
	place := Place{Cursor: s.cursor}
	for id := range s.live {
		place.Handled = append(place.Handled, id)
	}
	return place, nil
}

func (s *FileStore) read(from io.Reader) error {
	in := bufio.NewReader(from)
	for number := 1; ; number++ {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // what has no end of line was cut off
		}
		if err != nil {
			return err
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			if number == 1 {
				return errors.New("this is no file of a follower; name another one")
			}
			continue // a full disk or a power failure has cut it off
		}
		s.take(l)
	}
}

func (s *FileStore) take(l line) {
	if l.Cursor != nil {
		s.cursor = *l.Cursor
	}
	if l.Handled != "" {
		s.live[l.Handled] = l.At
	}
}

// Save adds a line to the file.
func (s *FileStore) Save(_ context.Context, step Step) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := line{Handled: step.Handled}
	if step.Handled != "" {
		l.At = step.At.Unix()
	}
	if step.Cursor != s.cursor {
		l.Cursor = &step.Cursor
	}
	if err := s.append(l); err != nil {
		return fmt.Errorf("save the cursor: %w", err)
	}
	s.take(l)
	s.lines++
	if s.lines > 2*len(s.live)+10_000 {
		return s.rewrite()
	}
	return nil
}

func (s *FileStore) append(l line) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(s.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	return errors.Join(err, file.Close())
}

// rewrite puts a file with what is still needed in the place of the old one, in one step.
func (s *FileStore) rewrite() error {
	oldest := time.Now().Add(-Remember).Unix()
	file, err := os.CreateTemp(filepath.Dir(s.path), filepath.Base(s.path)+".*")
	if err != nil {
		return fmt.Errorf("write the cursor anew: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }() // where it was not renamed
	out := bufio.NewWriter(file)
	lines := json.NewEncoder(out)
	err = lines.Encode(line{Cursor: &s.cursor})
	for id, at := range s.live {
		if at < oldest {
			delete(s.live, id)
			continue
		}
		err = errors.Join(err, lines.Encode(line{Handled: id, At: at}))
	}
	err = errors.Join(err, out.Flush(), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), s.path)
	}
	if err != nil {
		return fmt.Errorf("write the cursor anew: %w", err)
	}
	s.lines = 1 + len(s.live)
	return nil
}
