package config

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tallyman/rules/strictyaml"
)

// The codes of what http may not say.
const (
	CodeOrigin = "bad_origin" // browsers would never send it, or it would let everyone in
)

// HTTP is where the API listens, and how it meets its callers.
type HTTP struct {
	Listen string // host:port; port 0 is any free one
	Rate   CallerRate
	CORS   CORS
	TLS    TLSFiles

	MaxStreams         int // open at a time, of the node
	MaxStreamsPerToken int // of one token
}

// CallerRate is how often a caller may ask.
type CallerRate struct {
	Requests *Rate // of each token; nil where nothing is said, which depends on auth.mode
	Burst    int   // at once, after a rest; 0 where nothing is said
	Failures Rate  // wrong credentials of an address
}

// CORS says which pages may call.
type CORS struct {
	Origins []string // scheme://host[:port], lower case
}

// TLSFiles is the certificate that the API shows.
type TLSFiles struct {
	Cert, Key  string // absolute; both or neither
	MinVersion TLSVersion
}

// On tells whether the API speaks TLS.
func (t TLSFiles) On() bool { return t.Cert != "" }

// Scheme is that of the API's address.
func (h *HTTP) Scheme() string {
	if h.TLS.On() {
		return "https"
	}
	return "http"
}

// TLSVersion is a version of TLS.
type TLSVersion string

// The versions that the API may require.
const (
	TLS12 TLSVersion = "1.2"
	TLS13 TLSVersion = "1.3"
)

// What a caller who is known may ask where the configuration says nothing: no client that polls meets it, not even one that polls
// for ten thousand users; one that has run wild does.
const (
	defaultRequests = 1000 // a second
	burstSeconds    = 20   // of requests at once, where no burst is given
	mostBurst       = 10_000_000
	mostStreams     = 1_000_000
)

func defaultHTTP() HTTP {
	return HTTP{
		Listen: "127.0.0.1:8080",
		Rate:   CallerRate{Failures: Rate{Calls: 300, Per: time.Minute}},
		TLS:    TLSFiles{MinVersion: TLS12},

		MaxStreams: 20_000, MaxStreamsPerToken: 10_000,
	}
}

// Limits are the requests in a second and the burst that apply in the mode; 0 requests is no limit. In mode none all callers are on this
// machine, one of them perhaps a proxy that speaks for everyone, so there is a limit only where one is asked for.
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

func httpFields(h *HTTP) field {
	return section(map[string]field{
		"listen":                text(&h.Listen),
		"max_streams":           numberUpTo(&h.MaxStreams, mostStreams),
		"max_streams_per_token": numberUpTo(&h.MaxStreamsPerToken, mostStreams),
		"rate": section(map[string]field{
			"requests": func(d *decoder, at path, v any) {
				h.Rate.Requests = new(Rate)
				rate(h.Rate.Requests)(d, at, v)
			},
			"burst": numberUpTo(&h.Rate.Burst, mostBurst), "failures": rate(&h.Rate.Failures),
		}),
		"cors": section(map[string]field{"origins": texts(&h.CORS.Origins)}),
		"tls":  section(map[string]field{"cert": file(&h.TLS.Cert), "key": file(&h.TLS.Key), "min_version": tlsVersion(&h.TLS.MinVersion)}),
	})
}

// tlsVersion takes 1.2 with and without quotes.
func tlsVersion(dst *TLSVersion) field {
	return func(d *decoder, at path, v any) {
		s, ok := d.scalar(at, v, "1.2 or 1.3")
		switch x := TLSVersion(s); {
		case !ok:
		case x == TLS12, x == TLS13:
			*dst = x
		default:
			d.fail(at, strictyaml.CodeEnum, fmt.Sprintf("%s cannot be %q", at, s), "1.2 or 1.3; those before are broken")
		}
	}
}

func (d *decoder) checkHTTP(h *HTTP) {
	if requests := h.Rate.Requests; h.Rate.Burst > 0 && requests != nil && *requests == (Rate{}) && !d.bad(path{"http", "rate"}) {
		d.fail(path{"http", "rate", "burst"}, CodeRate, "http.rate.burst means nothing where http.rate.requests is none", "remove it")
	}
	at := path{"http", "tls"}
	switch {
	case d.bad(at):
	case h.TLS.Cert == "" && h.TLS.Key != "":
		d.missing(at, "cert")
	case h.TLS.Cert != "" && h.TLS.Key == "":
		d.missing(at, "key")
	}
	for i, origin := range h.CORS.Origins {
		d.checkOrigin(path{"http", "cors", "origins", strconv.Itoa(i)}, origin)
	}
}

// checkOrigin takes an origin exactly as browsers send it: anything else would never match.
func (d *decoder) checkOrigin(at path, origin string) {
	const form = "scheme://host, with :port where it is not the scheme's own, such as https://wms.example.com"
	u, err := url.Parse(origin)
	switch {
	case origin == "*" || strings.Contains(origin, "*"):
		d.fail(at, CodeOrigin, "every page of the world, or of a domain, cannot be let in", "name each origin: "+form)
	case origin == "null":
		d.fail(at, CodeOrigin, "null is the origin of files and of sandboxed pages, whoever made them", form)
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil:
		d.fail(at, CodeOrigin, fmt.Sprintf("%q is no origin", origin), form)
	default:
		if exact := u.Scheme + "://" + strings.ToLower(withoutOwnPort(u)); exact != origin {
			d.fail(at, CodeOrigin, fmt.Sprintf("%q is not an origin as browsers send it", origin), "write "+exact)
		}
	}
}

// withoutOwnPort is the host with its port, where that is not the scheme's own.
func withoutOwnPort(u *url.URL) string {
	own := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	return strings.TrimSuffix(strings.TrimSuffix(u.Host, ":"+own), ":")
}
