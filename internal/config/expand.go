package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// The codes of references.
const (
	CodeReference = "bad_reference"   // ${ that is not followed by NAME}
	CodeUnset     = "unset_variable"  // ${NAME} where the environment has no NAME
	CodeFile      = "file_unreadable" // file: that names what cannot be read
)

var reference = regexp.MustCompile(`\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{`)

// expand puts the environment's values for ${NAME}; $${ is a plain ${. It works on parsed texts, so that a value
// cannot change the structure of the file.
func (d *decoder) expand(at path, s string) (string, bool) {
	ok := true
	out := reference.ReplaceAllStringFunc(s, func(m string) string {
		switch m {
		case "$${":
			return "${"
		case "${":
			d.fail(at, CodeReference, fmt.Sprintf("%s: ${ is not followed by NAME}", at), "write $${ for a plain ${")
			ok = false
			return ""
		}
		name := m[2 : len(m)-1]
		value, set := d.env[name]
		if !set {
			d.fail(at, CodeUnset, fmt.Sprintf("%s: the environment variable %s is not set", at, name), "set it, or write the value here")
			ok = false
		}
		return value
	})
	return out, ok
}

// secret returns the text, or the content of the file that it names. Where the load is lazy, one that cannot be had is
// left open.
func (d *decoder) secret(at path, v any) (string, bool) {
	if !d.lazy {
		return d.readSecret(at, v)
	}
	problems, failed := d.problems, d.failed
	d.problems, d.failed = nil, map[string]bool{}
	s, ok := d.readSecret(at, v)
	if found := d.problems; areOpen(found) {
		d.problems, d.failed = problems, failed
		d.open = append(d.open, openValue{at, found})
		return "", false
	}
	d.problems = append(problems, d.problems...)
	maps.Copy(failed, d.failed)
	d.failed = failed
	return s, ok
}

func (d *decoder) readSecret(at path, v any) (string, bool) {
	s, ok := d.text(at, v)
	if !ok {
		return "", false
	}
	name, isFile := strings.CutPrefix(s, "file:")
	if !isFile {
		return s, true
	}
	b, err := readSecret(d.resolve(name))
	if err != nil {
		d.fail(at, CodeFile, fmt.Sprintf("%s: the file %s %s", at, d.resolve(name), err), "")
		return "", false
	}
	return d.line(at, strings.TrimRight(string(b), "\r\n"))
}

// maxSecret is the largest secret, in bytes: what is longer is another file than was meant.
const maxSecret = 64 << 10

// readSecret reads a small file. Its errors follow the file's name in a sentence.
func readSecret(name string) ([]byte, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("is not there")
	}
	if err != nil {
		return nil, errors.New("cannot be opened")
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	switch {
	case err != nil:
		return nil, errors.New("cannot be read")
	case len(b) > maxSecret:
		return nil, fmt.Errorf("has more than %d bytes, which is no secret", maxSecret)
	}
	return b, nil
}

// resolve makes a path of the configuration absolute.
func (d *decoder) resolve(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(d.dir, name)
}
