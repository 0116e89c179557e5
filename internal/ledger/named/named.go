package named

import (
	"fmt"
	"io/fs"
	"strings"
)

const (
	header   = "-- name: "
	reversed = "-- reversed: "
)

// Queries are statements by name.
type Queries map[string]string

// Parse reads every .sql file of the folder. Parse leaves out lines that are comments. A line "-- reversed: NAME" gives
// the statement a second name, under which its descending orders are ascending.
func Parse(files fs.FS, dir string) (Queries, error) {
	paths, err := fs.Glob(files, dir+"/*.sql")
	if err != nil {
		return nil, fmt.Errorf("list the queries: %w", err)
	}
	q := Queries{}
	for _, path := range paths {
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return nil, fmt.Errorf("read the queries: %w", err)
		}
		if err := q.add(path, string(text)); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// MustParse is Parse for embedded files, whose faults are bugs of the program. MustParse panics.
func MustParse(files fs.FS, dir string) Queries {
	q, err := Parse(files, dir)
	if err != nil {
		panic(err)
	}
	return q
}

// Get returns the statement. Get panics for a name that no file has, which is a bug of the program.
func (q Queries) Get(name string) string {
	s, ok := q[name]
	if !ok {
		panic("named: no query " + name)
	}
	return s
}

func (q Queries) add(path, text string) error {
	name, other := "", ""
	var body strings.Builder
	finish := func() error {
		s := strings.TrimSuffix(strings.TrimSpace(body.String()), ";")
		body.Reset()
		if name == "" {
			return nil
		}
		if s == "" {
			return fmt.Errorf("%s: query %s is empty", path, name)
		}
		if _, ok := q[name]; ok {
			return fmt.Errorf("%s: query %s is defined twice", path, name)
		}
		q[name] = s
		if other != "" {
			q[other] = strings.ReplaceAll(s, " DESC", "")
		}
		return nil
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, header); ok {
			if err := finish(); err != nil {
				return err
			}
			name, other = strings.TrimSpace(rest), ""
			continue
		}
		if rest, ok := strings.CutPrefix(line, reversed); ok {
			other = strings.TrimSpace(rest)
			continue
		}
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			body.WriteString(line)
		}
	}
	return finish()
}
