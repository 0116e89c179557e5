package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"tallyman/internal/settings"
	"tallyman/rules/strictyaml"
)

// The codes of problems of the section http.
const (
	CodeOrigin = "bad_origin" // Browsers never send such an origin, or it would allow every page.
	CodeRate   = settings.CodeRate
)

// Rate is a number of calls in a period.
type Rate = settings.Rate

// HTTP says where the API listens, and how it serves its callers.
type HTTP struct {
	Listen string `yaml:"listen" doc:"host:port of the API. Port 0 is any free port. With auth.mode none the host must be a loopback address."`

	MaxStreams         int `yaml:"max_streams" min:"1" max:"1000000" doc:"How many streams the node keeps open at a time. A stream needs about 10 KB and a file descriptor."`
	MaxStreamsPerToken int `yaml:"max_streams_per_token" min:"1" max:"1000000" doc:"How many streams one token keeps open on the node."`

	Rate CallerRate `yaml:"rate" doc:"How often callers may ask. Requests above the rate get the answer 429 with Retry-After."`
	CORS CORS       `yaml:"cors" doc:"Pages of other origins that may call from a browser."`
	TLS  TLSFiles   `yaml:"tls" doc:"The certificate of the API. Without it the API speaks plain HTTP."`
}

// CallerRate limits how often a caller may ask.
type CallerRate struct {
	Requests *Rate `yaml:"requests" doc:"Requests of each token; of each address with auth.mode none. A long poll and a stream count once."` // nil where the configuration sets no value
	Burst    int   `yaml:"burst" min:"1" max:"10000000" doc:"Requests at once, after a rest."`                                               // 0 where the configuration sets no value
	Failures Rate  `yaml:"failures" doc:"Different wrong credentials of an address (IPv6: of its /64). Further wrong credentials have to wait."`
}

// Notes implements strictyaml.Noter.
func (r CallerRate) Notes() map[string]strictyaml.Note {
	return map[string]strictyaml.Note{
		"requests": {Default: fmt.Sprintf("%d/s; no limit with auth.mode none", defaultRequests)},
		"burst":    {Default: fmt.Sprintf("what comes in %d s", burstSeconds)},
	}
}

// CORS says which pages may call.
type CORS struct {
	Origins []string `yaml:"origins" doc:"scheme://host[:port], exactly as browsers write an origin: lower case, no path, no wildcard."`
}

// TLSFiles is the certificate of the API and its key.
type TLSFiles struct {
	Cert       settings.File `yaml:"cert" doc:"The API's certificate with its chain (PEM). Needs key. A changed file is read while the node runs."`
	Key        settings.File `yaml:"key" doc:"The key of the certificate (PEM)."`
	MinVersion TLSVersion    `yaml:"min_version" doc:"The oldest version of TLS that the API accepts."`
}

// On tells whether the API speaks TLS.
func (t TLSFiles) On() bool { return t.Cert != "" }

// Scheme returns the scheme of the API's address.
func (h *HTTP) Scheme() string {
	if h.TLS.On() {
		return "https"
	}
	return "http"
}

// OwnURL returns the URL of the API for a caller on the node's own machine. ok is false if Listen has no fixed port:
// port 0, or not host:port.
func (h *HTTP) OwnURL() (url string, ok bool) {
	host, port, err := net.SplitHostPort(h.Listen)
	if err != nil || port == "0" {
		return "", false
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip.Is6() {
			host = "::1"
		}
	}
	return h.Scheme() + "://" + net.JoinHostPort(host, port), true
}

// TLSVersion is a version of TLS.
type TLSVersion string

// The versions that the API may require.
const (
	TLS12 TLSVersion = "1.2"
	TLS13 TLSVersion = "1.3"
)

// The default limits of a caller with a token. A normal client stays below them, even one that polls for ten thousand
// users. A client in an endless loop does not.
const (
	defaultRequests = 1000 // Requests per second.
	burstSeconds    = 20   // The default burst is the requests of this many seconds.
)

func defaultHTTP() HTTP {
	return HTTP{
		Listen: "127.0.0.1:8080",
		Rate:   CallerRate{Failures: Rate{Calls: 300, Per: time.Minute}},
		TLS:    TLSFiles{MinVersion: TLS12},

		MaxStreams: 20_000, MaxStreamsPerToken: 10_000,
	}
}

// Limits returns the requests per second and the burst that apply in the mode. 0 requests means no limit. Mode none has
// no default limit: all callers are on this machine, and one of them may be a proxy for all users.
func (r CallerRate) Limits(mode AuthMode) (requests float64, burst int) {
	switch {
	case r.Requests != nil:
		requests = r.Requests.PerSecond()
	case mode != AuthNone:
		requests = defaultRequests
	}
	if r.Burst > 0 {
		return requests, r.Burst
	}
	return requests, max(1, int(requests*burstSeconds))
}

// Takes says which versions there are.
func (v TLSVersion) Takes() string { return string(TLS12 + " or " + TLS13) }

// DecodeYAML takes 1.2 with and without quotes.
func (v *TLSVersion) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	s, ok := d.Setting(name, n, v.Takes())
	switch x := TLSVersion(s); {
	case !ok:
	case x == TLS12, x == TLS13:
		*v = x
	default:
		d.Fail(n, strictyaml.CodeEnum, fmt.Sprintf("%s cannot be %q", name, s), "1.2 or 1.3; older versions are not safe")
	}
}

// Check implements strictyaml.Checker.
func (r *CallerRate) Check(at settings.Section) {
	if r.Burst > 0 && r.Requests != nil && *r.Requests == (Rate{}) {
		at.In("burst").Fail(CodeRate, "http.rate.burst has no effect where http.rate.requests is none", "remove it")
	}
}

// Check implements strictyaml.Checker.
func (t *TLSFiles) Check(at settings.Section) {
	switch {
	case t.Cert == "" && t.Key != "":
		at.Missing("cert")
	case t.Cert != "" && t.Key == "":
		at.Missing("key")
	}
}

// Check implements strictyaml.Checker.
func (c *CORS) Check(at settings.Section) {
	for i, origin := range c.Origins {
		checkOrigin(at.Item("origins", i), origin)
	}
}

// checkOrigin accepts an origin only in the form that browsers send. Any other form would never match.
func checkOrigin(at settings.Section, origin string) {
	const form = "scheme://host, with :port where it is not the scheme's own, such as https://wms.example.com"
	u, err := url.Parse(origin)
	switch {
	case origin == "*" || strings.Contains(origin, "*"):
		at.Fail(CodeOrigin, "an origin with * is not allowed: it would let in pages of every site, or of a whole domain", "name each origin: "+form)
	case origin == "null":
		at.Fail(CodeOrigin, "the origin null is not allowed: every local file and every sandboxed page has this origin", form)
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil:
		at.Fail(CodeOrigin, fmt.Sprintf("%q is no origin", origin), form)
	default:
		if exact := u.Scheme + "://" + strings.ToLower(withoutOwnPort(u)); exact != origin {
			at.Fail(CodeOrigin, fmt.Sprintf("%q is not an origin as browsers send it", origin), "write "+exact)
		}
	}
}

// withoutOwnPort returns the host and the port, without the default port of the scheme.
func withoutOwnPort(u *url.URL) string {
	own := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	return strings.TrimSuffix(strings.TrimSuffix(u.Host, ":"+own), ":")
}
