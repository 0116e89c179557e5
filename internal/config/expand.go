package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// The codes of references.
const (
	CodeReference = "bad_reference"  // ${ that is not followed by NAME}
	CodeUnset     = "unset_variable" // ${NAME} where the environment has no NAME
	CodeFile      = "unreadable_file"
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

// secret returns the text, or the content of the file that it names.
func (d *decoder) secret(at path, v any) (string, bool) {
	s, ok := d.text(at, v)
	if !ok {
		return "", false
	}
	name, isFile := strings.CutPrefix(s, "file:")
	if !isFile {
		return s, true
	}
	b, err := os.ReadFile(d.resolve(name))
	if err != nil {
		// The path is named, the error's own words are not: they would repeat it.
		cause := "cannot be read"
		if errors.Is(err, fs.ErrNotExist) {
			cause = "is not there"
		}
		d.fail(at, CodeFile, fmt.Sprintf("%s: the file %s %s", at, d.resolve(name), cause), "")
		return "", false
	}
	return strings.TrimRight(string(b), "\r\n"), true
}

// resolve makes a path of the configuration absolute.
func (d *decoder) resolve(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(d.dir, name)
}
