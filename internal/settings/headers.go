package settings

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"

	"tallyman/rules/strictyaml"
)

// Headers are sent with each call, by their canonical names.
type Headers map[string]Secret

var (
	headerName  = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")
	headerValue = regexp.MustCompile(`^[\x20-\x7e\x80-\xff]*$`)
)

// ourHeaders are set by Tallyman or by HTTP itself.
var ourHeaders = []string{
	"Connection", "Content-Encoding", "Content-Length", "Content-Type", "Host", "Idempotency-Key", "Keep-Alive", "Te", "Trailer",
	"Traceparent", "Transfer-Encoding", "Upgrade", "User-Agent", "Webhook-Id", "Webhook-Signature", "Webhook-Timestamp",
}

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

func (h *Headers) check(d *strictyaml.Decoder, at string, f strictyaml.Field, value string) bool {
	canonical := http.CanonicalHeaderKey(f.Name)
	_, twice := (*h)[canonical]
	fail := func(message, hint string) bool {
		d.Fail(f.Key, CodeHeader, message, hint)
		return false
	}
	switch {
	case !headerName.MatchString(f.Name):
		return fail(fmt.Sprintf("%q cannot be the name of a header", f.Name), "for example Authorization")
	case slices.Contains(ourHeaders, canonical):
		return fail(fmt.Sprintf("%s: Tallyman sets %s itself", at, canonical), "remove it")
	case twice:
		return fail(fmt.Sprintf("%s: headers have no case, so %s is there twice", at, canonical), "remove one")
	case !headerValue.MatchString(value):
		return fail(at+": a header's value has characters up to U+00FF only", "")
	}
	return true
}
