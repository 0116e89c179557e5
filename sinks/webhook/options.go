package webhook

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"tallyman/sinks/guard"
)

// Options is what a webhook is made of. Only the URL is needed.
type Options struct {
	URL          string            // http or https; it may hold a name and password, and is a secret
	Secrets      []string          // to sign with, each: whsec_ and base64, or any text; none = calls are not signed
	Headers      map[string]string // sent with each call; secrets
	AllowPrivate bool              // addresses that are not of the public internet
	TLS          TLS
	Batch        bool // a call carries {"notices": […]}, also where it is only one

	Connections int              // calls at a time, whose connections are kept; 8
	Version     string           // of Tallyman, for the server to see
	Logger      *slog.Logger     // of certificates that cannot be read anew; none
	Now         func() time.Time // for the timestamps of signatures; the time of day
	Resolver    *net.Resolver    // the system's
}

// TLS is what differs from how a browser would connect. Files that are named are read anew when they change.
type TLS struct {
	CA         string // file with certificates of authorities, instead of the system's
	Cert, Key  string // files with the client's certificate and its key
	ServerName string // that the server's certificate must bear; the URL's host
}

func (o Options) withDefaults() Options {
	o.Connections = cmp.Or(o.Connections, 8)
	o.Version = cmp.Or(o.Version, "(devel)")
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// target reads the URL. No error shows more of it than the host.
func (o Options) target() (*url.URL, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, errors.New("webhook: the url cannot be read")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, errors.New("webhook: the url must be http://host/path or https://host/path")
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && !o.AllowPrivate {
		if err := guard.Check(a); err != nil {
			return nil, fmt.Errorf("webhook: %w; allow_private: true lets it", err)
		}
	}
	u.Fragment = ""
	return u, nil
}

// header is what each call has in common. What the protocol needs, whoever sets it, is ours.
func (o Options) header(u *url.URL) http.Header {
	h := http.Header{}
	if u.User != nil {
		password, _ := u.User.Password()
		r := http.Request{Header: h}
		r.SetBasicAuth(u.User.Username(), password)
	}
	for name, value := range o.Headers {
		h.Set(name, value)
	}
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "tallyman/"+o.Version)
	return h
}

// longWord is from how many characters on a part of a URL's path is likely to be a token.
const longWord = 16

// secrets are the texts that no error may show.
func (o Options) secrets(u *url.URL) []string {
	all := append([]string{o.URL}, o.Secrets...)
	for _, value := range o.Headers {
		all = append(all, value)
	}
	for _, secret := range o.Secrets {
		all = append(all, strings.TrimPrefix(secret, secretPrefix))
	}
	if u.User != nil {
		password, _ := u.User.Password()
		all = append(all, u.User.String(), u.User.Username()+":"+password, password)
	}
	all = append(all, u.RequestURI(), u.RawQuery)
	for _, values := range u.Query() {
		all = append(all, values...)
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if len(part) >= longWord {
			all = append(all, part)
		}
	}
	return all
}
