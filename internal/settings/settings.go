package settings

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"

	"tallyman/rules/strictyaml"
)

// Section is a decoded struct, as its Check gets it.
type Section = strictyaml.Section

// The codes of strictyaml that the checks of configurable packages use.
const (
	CodeMissing    = strictyaml.CodeMissing
	CodeOutOfRange = strictyaml.CodeOutOfRange
)

// The codes of this package's problems; docs/reference/error-codes.md has an example of each.
const (
	CodeURL    = "bad_url"
	CodeName   = "bad_name"
	CodeRate   = "bad_rate"
	CodeHeader = "bad_header"
	CodeBook   = "bad_address_name" // the name of an entry in the address book
)

// Site resolves secrets and paths of a configuration for the kinds of values in this package.
type Site interface {
	strictyaml.Reader
	// Secret returns the text of a secret, or the content of the file that the text names.
	Secret(d *strictyaml.Decoder, name string, n *strictyaml.Node) (string, bool)
	// Resolve makes a path absolute. A relative path is relative to the file of the configuration.
	Resolve(path string) string
	// IsOpen tells whether a value of the section is kept elsewhere and was not read. A check must skip such a section.
	IsOpen(s Section) bool
}

func siteOf(d *strictyaml.Decoder) Site {
	site, ok := d.Reader().(Site)
	if !ok {
		panic("settings: decoded without a site") // only a mistake in the program can cause this
	}
	return site
}

// IsOpen tells whether a value of the section is kept elsewhere and was not read. A check must skip such a section.
func IsOpen(s Section) bool {
	site, ok := s.Reader().(Site)
	return ok && site.IsOpen(s)
}

// File is the absolute path of a file. Empty means no file. Decoding does not check the file; its reader does.
type File string

// Takes says what a file may be.
func (f File) Takes() string { return "the path of a file" }

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

// IsName tells whether the text can be the name of a source, a sink or a warehouse.
func IsName(s string) bool { return namePattern.MatchString(s) }

// IsPort tells whether the text is the number of a port.
func IsPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

// WebURL parses the address of a web server. It returns nil where the text is not such an address.
func WebURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Port() != "" && !IsPort(u.Port()) || u.Fragment != "" {
		return nil
	}
	return u
}

// Rate limits the calls in a time span. The zero value means no limit.
type Rate struct {
	Calls int
	Per   time.Duration // a second, a minute or an hour
}

// PerSecond returns the calls per second. 0 means no limit.
func (r Rate) PerSecond() float64 {
	if r.Calls == 0 {
		return 0
	}
	return float64(r.Calls) / r.Per.Seconds()
}

// String returns the rate as a configuration writes it.
func (r Rate) String() string {
	for unit, per := range rateUnits {
		if r.Calls > 0 && per == r.Per {
			return strconv.Itoa(r.Calls) + "/" + unit
		}
	}
	return noRate
}

const (
	noRate      = "none"  // a configuration writes this for no limit
	fastestRate = 1000000 // the most calls, in any unit
)

var (
	ratePattern = regexp.MustCompile(`^([0-9]{1,9})/(s|m|h)$`)
	rateUnits   = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}
)

// Takes says what a rate may be.
func (r Rate) Takes() string {
	return fmt.Sprintf("a rate such as 50/s, 600/m or 1000/h (1 to %d), or %s", fastestRate, noRate)
}

// DecodeYAML reads how many calls there may be in a span.
func (r *Rate) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	s, ok := d.Setting(name, n, "a rate such as 50/s")
	if !ok {
		return
	}
	if s == noRate {
		*r = Rate{}
		return
	}
	m := ratePattern.FindStringSubmatch(s)
	if m == nil {
		d.Fail(n, CodeRate, fmt.Sprintf("%s: %q is no rate", name, s), "so many calls a second, minute or hour, such as 50/s, 600/m or 1000/h; or none")
		return
	}
	calls, err := strconv.Atoi(m[1])
	if err != nil || calls < 1 || calls > fastestRate {
		d.Fail(n, CodeRate, fmt.Sprintf("%s is %s; it must be 1 to %d", name, s, fastestRate), "write none for no limit")
		return
	}
	*r = Rate{Calls: calls, Per: rateUnits[m[2]]}
}

// Headers are the headers of each call, by their canonical names.
type Headers map[string]Secret

var (
	headerName  = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")
	headerValue = regexp.MustCompile(`^[\x20-\x7e\x80-\xff]*$`)
)

// ourHeaders are the headers that Tallyman or HTTP itself sets, so a configuration cannot.
var ourHeaders = []string{
	"Connection", "Content-Encoding", "Content-Length", "Content-Type", "Host", "Idempotency-Key", "Keep-Alive", "Te", "Trailer",
	"Traceparent", "Transfer-Encoding", "Upgrade", "User-Agent", "Webhook-Id", "Webhook-Signature", "Webhook-Timestamp",
}

// Takes says what headers may be.
func (h *Headers) Takes() string { return strictyaml.MapWords + " of headers" }

// DecodeYAML reads names of headers and their values, which may be secret.
func (h *Headers) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	if !d.Is(strictyaml.Mapping, name, n, "a map of headers") {
		return
	}
	d.Faults(n)
	*h = make(Headers, len(n.Fields))
	for _, f := range n.Fields {
		var value Secret
		failed := d.Attempt(func() { d.Entry(name, f, &value) })
		d.Add(f.Value, failed)
		if len(failed) == 0 && h.check(d, name+"."+f.Name, f, value.Reveal()) {
			(*h)[http.CanonicalHeaderKey(f.Name)] = value
		}
	}
}

// HeaderFault says why a configuration cannot set the header, and what to do. It returns "" where the name is fine.
func HeaderFault(name string) (fault, hint string) {
	switch canonical := http.CanonicalHeaderKey(name); {
	case !headerName.MatchString(name):
		return fmt.Sprintf("%q cannot be the name of a header", name), "for example Authorization"
	case slices.Contains(ourHeaders, canonical):
		return fmt.Sprintf("Tallyman sets %s itself", canonical), "remove it"
	default:
		return "", ""
	}
}

func (h *Headers) check(d *strictyaml.Decoder, at string, f strictyaml.Field, value string) bool {
	canonical := http.CanonicalHeaderKey(f.Name)
	_, twice := (*h)[canonical]
	fail := func(message, hint string) bool {
		d.Fail(f.Key, CodeHeader, message, hint)
		return false
	}
	fault, hint := HeaderFault(f.Name)
	switch {
	case !headerName.MatchString(f.Name):
		return fail(fault, hint)
	case fault != "":
		return fail(at+": "+fault, hint)
	case twice:
		return fail(fmt.Sprintf("%s: upper and lower case do not matter in a header's name, so %s is set twice", at, canonical), "remove one")
	case !headerValue.MatchString(value):
		return fail(at+": a header's value has characters up to U+00FF only", "")
	}
	return true
}
