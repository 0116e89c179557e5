package settings

import (
	"net/url"
	"regexp"
	"strconv"

	"tallyman/rules/strictyaml"
)

// Section is a decoded struct, for its check.
type Section = strictyaml.Section

// The codes of values that no kind takes.
const (
	CodeMissing    = strictyaml.CodeMissing
	CodeOutOfRange = strictyaml.CodeOutOfRange
)

// The codes of this package's problems; docs/error-codes.md has an example of each.
const (
	CodeURL    = "bad_url"
	CodeName   = "bad_name"
	CodeRate   = "bad_rate"
	CodeHeader = "bad_header"
)

// Site is what the kinds need to know of the place that a configuration is read at.
type Site interface {
	strictyaml.Reader
	// Secret returns a text, or the content of the file that it names.
	Secret(d *strictyaml.Decoder, name string, n *strictyaml.Node) (string, bool)
	// Resolve makes a path absolute: it is relative to the configuration's file.
	Resolve(path string) string
	// IsOpen tells whether a value of the section is kept elsewhere and is not needed now: it cannot be checked.
	IsOpen(s Section) bool
}

func siteOf(d *strictyaml.Decoder) Site {
	site, ok := d.Reader().(Site)
	if !ok {
		panic("settings: decoded without a site") // a mistake of the program
	}
	return site
}

// IsOpen tells whether a value at the section is kept elsewhere and is not needed now: it cannot be checked.
func IsOpen(s Section) bool {
	site, ok := s.Reader().(Site)
	return ok && site.IsOpen(s)
}

// File is the path of a file, absolute; "" = none. Whether the file is good is for the one to say who reads it.
type File string

// DecodeYAML reads the path.
func (f *File) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	s, ok := d.Text(name, n)
	switch {
	case !ok:
	case s == "":
		d.Fail(n, CodeMissing, name+" names no file", "remove it, or name a file")
	default:
		*f = File(siteOf(d).Resolve(s))
	}
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// IsName tells whether a source, sink or warehouse can be called so.
func IsName(s string) bool { return namePattern.MatchString(s) }

// IsPort tells whether the text is the number of a port.
func IsPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

// WebURL reads an address of a web server; nil where it is none.
func WebURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Port() != "" && !IsPort(u.Port()) || u.Fragment != "" {
		return nil
	}
	return u
}
