package config

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tallyman/rules/strictyaml"
)

// The codes of webhooks.
const (
	CodeHeader        = "bad_header"
	CodeSigningSecret = "bad_signing_secret" //nolint:gosec // the name of a problem
	CodeTLS           = "tls_without_https"
)

// WebhookSink is what a sink of type webhook has beside what every push channel has.
type WebhookSink struct {
	URL          Secret            // http or https
	Secrets      []Secret          // that calls are signed with; none = they are not signed
	Headers      map[string]Secret // sent with each call, by their canonical names
	AllowPrivate bool              // addresses that are not of the public internet
	TLS          TLS
	Batch        Batch
}

// TLS is what differs from how a browser would connect. Files are absolute; empty ones are not set.
type TLS struct {
	CA         string // instead of the system's authorities
	Cert, Key  string // the client's certificate
	ServerName string // that the server's certificate must bear
}

func defaultWebhook() *WebhookSink { return &WebhookSink{Batch: Batch{Max: 1}} }

func (w *WebhookSink) fields() map[string]field {
	return map[string]field{
		"url":           hidden(&w.URL),
		"secret":        secrets(&w.Secrets),
		"headers":       headers(&w.Headers),
		"allow_private": yesNo(&w.AllowPrivate),
		"tls": section(map[string]field{
			"ca": file(&w.TLS.CA), "cert": file(&w.TLS.Cert), "key": file(&w.TLS.Key), "server_name": text(&w.TLS.ServerName),
		}),
		"batch": w.Batch.field(),
	}
}

// headers reads names of headers and their values, which may be secret.
func headers(dst *map[string]Secret) field {
	return func(d *decoder, at path, v any) {
		m, ok := v.(map[string]any)
		if !ok {
			d.wrong(at, "a map of headers", v)
			return
		}
		*dst = make(map[string]Secret, len(m))
		for _, name := range slices.Sorted(maps.Keys(m)) {
			value, ok := d.hide(at.to(name), m[name])
			if ok && d.checkHeader(at.to(name), name, value, *dst) {
				(*dst)[http.CanonicalHeaderKey(name)] = NewSecret(value)
			}
		}
	}
}

var (
	headerName  = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")
	headerValue = regexp.MustCompile(`^[\x20-\x7e\x80-\xff]*$`)
)

// ourHeaders are set by Tallyman or by HTTP itself.
var ourHeaders = []string{
	"Connection", "Content-Encoding", "Content-Length", "Content-Type", "Host", "Idempotency-Key", "Keep-Alive", "Te", "Trailer",
	"Traceparent", "Transfer-Encoding", "Upgrade", "User-Agent", "Webhook-Id", "Webhook-Signature", "Webhook-Timestamp",
}

func (d *decoder) checkHeader(at path, name, value string, known map[string]Secret) bool {
	canonical := http.CanonicalHeaderKey(name)
	_, twice := known[canonical]
	switch {
	case !headerName.MatchString(name):
		d.failName(at, CodeHeader, fmt.Sprintf("%q cannot be the name of a header", name), "for example Authorization")
	case slices.Contains(ourHeaders, canonical):
		d.failName(at, CodeHeader, fmt.Sprintf("%s: Tallyman sets %s itself", at, canonical), "remove it")
	case twice:
		d.failName(at, CodeHeader, fmt.Sprintf("%s: headers have no case, so %s is there twice", at, canonical), "remove one")
	case !headerValue.MatchString(value):
		d.failName(at, CodeHeader, fmt.Sprintf("%s: a header's value has characters up to U+00FF only", at), "")
	default:
		return true
	}
	return false
}

func (d *decoder) checkWebhook(at path, w *WebhookSink) {
	https := d.checkWebhookURL(at, w)
	for i, s := range w.Secrets {
		where := at.to("secret")
		if len(w.Secrets) > 1 {
			where = where.to(strconv.Itoa(i))
		}
		d.checkSigningSecret(where, s.Reveal())
	}
	switch t := w.TLS; {
	case t.Cert != "" && t.Key == "":
		d.missing(at.to("tls"), "key")
	case t.Key != "" && t.Cert == "":
		d.missing(at.to("tls"), "cert")
	case t != TLS{} && !https:
		d.failName(at.to("tls"), CodeTLS, fmt.Sprintf("%s is for addresses that begin with https", at.to("tls")), "remove it, or use https")
	}
}

// checkWebhookURL tells whether the address may be one of https.
func (d *decoder) checkWebhookURL(at path, w *WebhookSink) bool {
	where := at.to("url")
	if d.open.has(where) {
		return true
	}
	if w.URL.Reveal() == "" {
		d.missing(at, "url")
		return true
	}
	u, err := url.Parse(w.URL.Reveal())
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || !isPort(portOr(u.Port(), "80")) || u.Fragment != "" {
		d.fail(where, CodeURL, fmt.Sprintf("%s is no address of a web server", where), "https://host/path")
		return true
	}
	return u.Scheme == "https"
}

func portOr(port, other string) string {
	if port == "" {
		return other
	}
	return port
}

// signingPrefix marks a secret that is written in base64.
const signingPrefix = "whsec_"

func (d *decoder) checkSigningSecret(at path, s string) {
	coded, isCoded := strings.CutPrefix(s, signingPrefix)
	if s == "" {
		d.fail(at, strictyaml.CodeMissing, fmt.Sprintf("%s is empty", at), "remove it, and calls are not signed")
		return
	}
	if raw, err := base64.StdEncoding.DecodeString(coded); isCoded && (err != nil || len(raw) == 0) {
		d.fail(at, CodeSigningSecret, fmt.Sprintf("%s: what follows whsec_ is no base64", at), "whsec_ and 24 to 64 bytes in base64, or any other text")
	}
}
