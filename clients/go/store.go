package tallyman

import (
	"bufio"
	"bytes"
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

// Remember is how long a store keeps the id of a handled notice. After a reset the service sends the notices of the
// last three days again, and Follow leaves out the notices that were handled.
const Remember = 4 * 24 * time.Hour

// Store keeps the cursor and the handled notices of a follower. [FileStore] keeps them in a file. A program with a
// database can keep them there. Only one follower may use a store at a time.
type Store interface {
	// Load returns the place that was saved last, or the zero Place if nothing was saved.
	Load(ctx context.Context) (Place, error)
	// Save saves a step of the follower. When Save returns, the step must survive a kill of the process.
	Save(ctx context.Context, s Step) error
}

// Place is the position of a follower.
type Place struct {
	Cursor  string   // Empty = the follower begins with the last three days.
	Handled []string // Ids of the notices that were handled within Remember.
}

// Step is a change of the place: a new cursor, a handled notice, or both. A step with a handled notice comes after the
// handler has returned nil.
type Step struct {
	Cursor  string    // The new cursor.
	Handled string    // Id of the handled notice; empty = none.
	At      time.Time // When the notice was handled.
}

// FileStore keeps the place in a file of JSON lines. Each step adds a line. A line that was cut off by a kill is
// ignored. The file is rewritten when it is loaded, and when most of its lines are old.
type FileStore struct {
	path string

	mu     sync.Mutex
	cursor string
	live   map[string]int64 // When each notice was handled, in s since 1970.
	lines  int              // Number of lines in the file.
}

// NewFileStore makes a store in the file. The file is created if it does not exist.
func NewFileStore(path string) *FileStore { return &FileStore{path: path} }

// line is a line of the file.
type line struct {
	Cursor  *string `json:"cursor,omitempty"` // nil = unchanged.
	Handled string  `json:"handled,omitempty"`
	At      int64   `json:"at,omitempty"`
}

// Load reads the file. The first line of a follower's file is its cursor, and is always whole. If the first line is
// anything else, another program made the file: then Load returns an error and does not change the file.
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
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(text) == 0 || err != nil && number > 1 {
			return nil // A line without an end was cut off.
		}
		var l line
		lines := json.NewDecoder(bytes.NewReader(text))
		if number == 1 {
			lines.DisallowUnknownFields()
		}
		fault := lines.Decode(&l)
		if number == 1 && (fault != nil || l.Cursor == nil) {
			return errors.New("this is not a file of a follower, and it was not changed; choose another file")
		}
		if fault != nil {
			continue // A full disk or a power failure has cut off the line.
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

// rewrite replaces the file in one step by a file with only the needed lines.
func (s *FileStore) rewrite() error {
	oldest := time.Now().Add(-Remember).Unix()
	file, err := os.CreateTemp(filepath.Dir(s.path), filepath.Base(s.path)+".*")
	if err != nil {
		return fmt.Errorf("rewrite the file of the cursor: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }() // Only removes the file if it was not renamed.
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
		return fmt.Errorf("rewrite the file of the cursor: %w", err)
	}
	s.lines = 1 + len(s.live)
	return nil
}
