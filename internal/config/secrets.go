package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tallyman/internal/settings"
	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

// The codes of problems of references.
const (
	CodeReference = "bad_reference"   // A ${ without NAME} after it.
	CodeUnset     = "unset_variable"  // A ${NAME} that the environment does not set.
	CodeFile      = "file_unreadable" // A file: whose file cannot be read.
)

var reference = regexp.MustCompile(`\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{`)

// Expand replaces ${NAME} by the value of the environment variable, and $${ by ${. It works on parsed texts, so a value
// cannot change the structure of the file.
func (l *loader) Expand(d *strictyaml.Decoder, at string, n *strictyaml.Node) (string, bool) {
	ok := true
	out := reference.ReplaceAllStringFunc(n.Text, func(m string) string {
		switch m {
		case "$${":
			return "${"
		case "${":
			d.Fail(n, CodeReference, fmt.Sprintf("%s: ${ is not followed by NAME}", at), "write $${ for a plain ${")
			ok = false
			return ""
		}
		name := m[2 : len(m)-1]
		value, set := l.env[name]
		if !set {
			d.Fail(n, CodeUnset, fmt.Sprintf("%s: the environment variable %s is not set", at, name), "set it, or write the value here")
			ok = false
		}
		return value
	})
	return out, ok
}

// Secret returns the text, or the content of the file that the text names. If a lazy load cannot read a secret, it
// leaves the secret open.
func (l *loader) Secret(d *strictyaml.Decoder, name string, n *strictyaml.Node) (s string, ok bool) {
	if !l.lazy {
		return l.secret(d, name, n)
	}
	found := d.Attempt(func() { s, ok = l.secret(d, name, n) })
	if areOpen(found) {
		l.open = append(l.open, openValue{n.Path, found})
		return "", false
	}
	d.Add(n, found)
	return s, ok
}

func (l *loader) secret(d *strictyaml.Decoder, name string, n *strictyaml.Node) (string, bool) {
	s, ok := d.Text(name, n)
	if !ok {
		return "", false
	}
	path, isFile := strings.CutPrefix(s, "file:")
	if !isFile {
		return s, true
	}
	path = l.Resolve(path)
	b, err := readSecret(path)
	if err != nil {
		d.Fail(n, CodeFile, fmt.Sprintf("%s: the file %s %s", name, path, err), "")
		return "", false
	}
	return d.Line(name, n, strings.TrimRight(string(b), "\r\n"))
}

// maxSecret is the largest size of a secret in bytes. A larger file is most likely not the intended one.
const maxSecret = 64 << 10

// readSecret reads a small file. Its errors continue a sentence that begins with the name of the file.
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
		return nil, fmt.Errorf("has more than %d bytes, too long for a secret", maxSecret)
	}
	return b, nil
}

// Resolve makes a path of the configuration absolute.
func (l *loader) Resolve(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(l.dir, name)
}

// openValues are the values that a lazy load could not read.
type openValues []openValue

type openValue struct {
	path  string
	found problem.List // Why the value could not be read.
}

func (o openValues) below(path string) problem.List {
	var l problem.List
	for _, v := range o {
		if v.path == path || strings.HasPrefix(v.path, path+separator) {
			l = append(l, v.found...)
		}
	}
	return l
}

// IsOpen tells whether the section's value, or a part of it, is still open.
func (l *loader) IsOpen(s settings.Section) bool {
	return s.Path() != "" && len(l.open.below(s.Path())) > 0
}

// areOpen tells whether all problems come from a variable that is not set or a file that cannot be read.
func areOpen(found problem.List) bool {
	return len(found) > 0 && !slices.ContainsFunc(found, func(p problem.Problem) bool {
		return p.Code != CodeUnset && p.Code != CodeFile
	})
}

// Need returns why a part of a lazily loaded configuration cannot be used, as a problem.List. For a source call
// Need("sources", name), for the ledger Need("ledger").
func (c *Config) Need(part ...string) error { return c.open.below(strings.Join(part, separator)).Err() }

// secretNames are the fields whose values are secrets, or may contain one.
var secretNames = []string{"url", "secret", "password", "headers"}

// addressName is a field that is shown, unless its value has credentials.
const addressName = "endpoint"

// mayShow tells whether a text of a field with secrets may be shown: it names a file or variables in place of each
// secret. Outside sinks and telemetry a secret is the password of an address, which stands before an @.
func mayShow(text string, sink bool) bool {
	if strings.HasPrefix(text, "file:") {
		return true
	}
	plain := reference.ReplaceAllString(text, "")
	if sink {
		return plain == ""
	}
	at := strings.LastIndex(plain, "@")
	return at < 0 || plain != text && strings.HasSuffix(plain[:at], ":")
}

// secretLines returns the lines of the file with secrets, valid or not.
func secretLines(root *strictyaml.Node) map[int]bool {
	lines := map[int]bool{}
	var walk func(n *strictyaml.Node, sink, secret bool)
	walk = func(n *strictyaml.Node, sink, secret bool) {
		if secret && n.Kind == strictyaml.Scalar && !mayShow(n.Text, sink) {
			lines[n.Line] = true
		}
		for _, item := range n.Items {
			walk(item, sink, secret)
		}
		for _, f := range n.Fields {
			walk(f.Value, sink && f.Name != addressName, secret || f.Name == addressName || slices.Contains(secretNames, f.Name))
		}
	}
	for _, f := range root.Fields {
		walk(f.Value, f.Name == "sinks" || f.Name == "telemetry", false)
	}
	return lines
}

// mayBeSecret matches lines that may have a secret, in a file that cannot be parsed.
var mayBeSecret = regexp.MustCompile(`(?i)url|secret|passw|token|auth|bearer|header|key|whsec_|://|@`)

// withoutSecrets removes lines that may show a secret from the problems. It serves files that cannot be parsed.
func withoutSecrets(list problem.List) problem.List {
	for i := range list {
		if mayBeSecret.MatchString(list[i].Snippet) {
			list[i].Snippet, list[i].Caret = "", 0
		}
	}
	return list
}

// sorted sorts the problems by their places, and removes lines with secrets from them.
func (l *loader) sorted(list problem.List) problem.List {
	hidden := secretLines(l.file.Root)
	for i, p := range list {
		if hidden[p.Line] && p.File == l.file.Name {
			list[i].Snippet, list[i].Caret = "", 0
		}
	}
	slices.SortStableFunc(list, func(a, b problem.Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return list
}
