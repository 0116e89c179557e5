package webhook

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/settings"
	"tallyman/sinks"
	"tallyman/sinks/guard"
	"tallyman/sinks/request"
	"tallyman/sinks/scrub"
)

// TypeName is the name of the type.
const TypeName = "webhook"

// Type is the type of sink that posts to an HTTP server.
var Type = sinks.Type{Name: TypeName, New: func() sinks.Settings { return NewSettings() }}

// The codes of problems in the settings.
const (
	CodeSigningSecret = "bad_signing_secret" //nolint:gosec // the name of a problem
	CodeTLS           = "tls_without_https"
	CodeURL           = settings.CodeURL
	CodeAlone         = "not_without_request"
	CodeBatch         = "batch_of_requests"
)

// Settings are the settings of a sink of this type.
type Settings struct {
	sinks.PushSettings `yaml:",inline"`

	URL          settings.Secret  `yaml:"url" doc:"the server, http or https; kept secret, because it may hold a token"`
	Secrets      settings.Secrets `yaml:"secret" doc:"the key that signs calls; a list while you change the key; without it calls are not signed"`
	Headers      settings.Headers `yaml:"headers" doc:"sent with each call; values are kept secret"`
	AllowPrivate bool             `yaml:"allow_private" doc:"the server may be in the own network or on this machine"`
	TLS          TLSSettings      `yaml:"tls" doc:"TLS settings that differ from a browser's"`
	Batch        sinks.Batch      `yaml:"batch" doc:"how many notices a call carries"`

	Each    string            `yaml:"each" enum:"user" doc:"user = a call for each recipient, instead of one for all"`
	Address string            `yaml:"address" doc:"mail, phone, alias, or the name of a channel in the address book; with each: user, a recipient without such an address gets no call"`
	Request *request.Template `yaml:"request" doc:"the form of the call, where the server expects another form"`
	Answer  request.Answer    `yaml:"answer" doc:"how the body of an answer shows success or failure, in addition to the status"`
	Token   *request.Token    `yaml:"token" doc:"the call that fetches an access token"`
	Values  request.Values    `yaml:"values" doc:"texts that templates name, as {{ .Value \"key\" }}; kept secret"`
}

// TLSSettings says how a connection differs from a browser's connection.
type TLSSettings struct {
	CA         settings.File `yaml:"ca" doc:"a file with the authorities to trust, instead of the system's"`
	Cert       settings.File `yaml:"cert" doc:"the client's certificate"`
	Key        settings.File `yaml:"key" doc:"the key of the client's certificate"`
	ServerName string        `yaml:"server_name" doc:"the name in the server's certificate, where it differs from the host"`
}

// NewSettings returns the default settings.
func NewSettings() *Settings {
	return &Settings{PushSettings: sinks.NewPushSettings(TypeName), Batch: sinks.Batch{Max: 1}}
}

// Check implements strictyaml.Checker.
func (s *Settings) Check(at settings.Section) {
	https := s.checkURL(at)
	for i, secret := range s.Secrets {
		where := at.In("secret")
		if len(s.Secrets) > 1 {
			where = at.Item("secret", i)
		}
		checkSecret(where, secret.Reveal())
	}
	t, tls := s.TLS, at.In("tls")
	switch {
	case t.Cert != "" && t.Key == "":
		tls.Missing("key")
	case t.Key != "" && t.Cert == "":
		tls.Missing("cert")
	case t != TLSSettings{} && !https:
		tls.FailName(CodeTLS, tls.String()+" is for addresses that begin with https", "remove it, or use https")
	}
	s.checkRequest(at)
}

// checkRequest checks the settings of recipients and of calls with a form of their own.
func (s *Settings) checkRequest(at settings.Section) {
	if where := at.In("address"); s.Address != "" && !delivery.IsAddress(s.Address) {
		where.Fail(settings.CodeBook, where.String()+" names no address of the address book", "mail, phone, alias, or the name of a channel, such as jpush")
	}
	if s.Request == nil {
		for _, field := range []struct {
			name  string
			given bool
		}{
			{"answer", s.Answer.Code != ""}, {"token", s.Token != nil}, {"values", s.Values != nil}, {"address", s.Address != "" && s.Each == ""},
		} {
			if where := at.In(field.name); field.given {
				where.FailName(CodeAlone, where.String()+" works only together with request", "remove it, or add request to the sink")
			}
		}
		return
	}
	if s.Batch.Max > 1 {
		where := at.In("batch")
		where.FailName(CodeBatch, where.String()+": a call with a form of its own carries one notice", "remove it")
	}
	s.Request.CheckAt(at.In("request"), request.Sample(s.Values))
	s.Answer.CheckAt(at.In("answer"))
	if s.Token != nil {
		s.Token.CheckAt(at.In("token"), s.Values)
	}
}

// IsEach implements sinks.ChannelSettings.
func (s *Settings) IsEach() bool { return s.Each != "" }

// NeedsAddress implements sinks.ChannelSettings.
func (s *Settings) NeedsAddress() string {
	if s.Each == "" {
		return ""
	}
	return s.Address
}

// checkURL tells whether the URL is https. checkURL also returns true if the URL is missing, wrong or not yet known, so
// that there is no second problem about TLS.
func (s *Settings) checkURL(at settings.Section) bool {
	where := at.In("url")
	if settings.IsOpen(where) {
		return true
	}
	if s.URL.Reveal() == "" {
		at.Missing("url")
		return true
	}
	u := settings.WebURL(s.URL.Reveal())
	if u == nil {
		where.Fail(CodeURL, where.String()+" is no address of a web server", "https://host/path")
		return true
	}
	return u.Scheme == "https"
}

func checkSecret(at settings.Section, s string) {
	if s == "" {
		at.Fail(settings.CodeMissing, at.String()+" is empty", "remove it, and calls are not signed")
		return
	}
	coded, isCoded := strings.CutPrefix(s, secretPrefix)
	if raw, err := base64.StdEncoding.DecodeString(coded); isCoded && (err != nil || len(raw) == 0) {
		at.Fail(CodeSigningSecret, at.String()+": the rest after whsec_ is not base64", "whsec_ and 24 to 64 bytes in base64, or any other text")
	}
}

// Batching implements sinks.ChannelSettings.
func (s *Settings) Batching() sinks.Batch { return s.Batch }

// SecretTexts implements sinks.Settings.
func (s *Settings) SecretTexts() []string {
	list := append(scrub.Address(s.URL.Reveal()), s.Values.Secrets()...)
	if s.Token != nil {
		list = append(list, scrub.Address(s.Token.URL.Reveal())...)
	}
	for _, secret := range s.Secrets {
		list = append(list, secret.Reveal(), strings.TrimPrefix(secret.Reveal(), secretPrefix))
	}
	for _, value := range s.Headers {
		list = append(list, value.Reveal())
		if _, credentials, ok := strings.Cut(value.Reveal(), " "); ok { // such as Bearer or Basic credentials
			list = append(list, credentials)
		}
	}
	return list
}

// Endpoint implements sinks.Reachable.
func (s *Settings) Endpoint() sinks.Endpoint {
	u, err := url.Parse(s.URL.Reveal())
	if err != nil {
		return sinks.Endpoint{} // Not expected: such settings have a fault.
	}
	isTLS := u.Scheme == "https"
	port := cmp.Or(u.Port(), map[bool]string{true: "443", false: "80"}[isTLS])
	return sinks.Endpoint{
		Address: net.JoinHostPort(u.Hostname(), port), TLS: isTLS, ServerName: cmp.Or(s.TLS.ServerName, u.Hostname()),
		CA: string(s.TLS.CA), Cert: string(s.TLS.Cert), Key: string(s.TLS.Key),
	}
}

// Open implements sinks.ChannelSettings.
func (s *Settings) Open(site sinks.Site) (sinks.Channel, error) {
	o := Options{
		URL: s.URL.Reveal(), AllowPrivate: s.AllowPrivate, Batch: s.Batch.Max > 1,
		TLS:         TLS{CA: string(s.TLS.CA), Cert: string(s.TLS.Cert), Key: string(s.TLS.Key), ServerName: s.TLS.ServerName},
		Connections: s.Concurrency, Version: site.Version, Logger: site.Logger, Headers: map[string]string{},
		Book: site.Book, Each: s.Each != "", Address: s.Address, Request: s.Request, Answer: s.Answer, Token: s.Token, Values: s.Values,
	}
	for _, secret := range s.Secrets {
		o.Secrets = append(o.Secrets, secret.Reveal())
	}
	for header, value := range s.Headers {
		o.Headers[header] = value.Reveal()
	}
	return sinks.Opened(New(o))
}

// Options has everything that a webhook is made of. Only URL is required.
type Options struct {
	URL          string            // an http or https address; a secret, since it may hold a name and password
	Secrets      []string          // each signs every call; whsec_ and base64, or any text; empty = calls are not signed
	Headers      map[string]string // sent with each call; their values are secrets
	AllowPrivate bool              // allows addresses outside of the public internet
	TLS          TLS
	Batch        bool // true = the body is {"notices": […]}, even for a single notice

	Book    delivery.Addresses // the address book; nil = calls do not name recipients
	Each    bool               // true = each delivery is for one recipient
	Address string             // which address of the address book the templates see
	Request *request.Template  // the form of a call; nil = the JSON of the notice
	Answer  request.Answer     // how the answers to such calls are read
	Token   *request.Token     // how such calls get their token; nil = they need none
	Values  request.Values     // texts that their templates can name

	Connections int              // how many idle connections are kept: as many as calls at a time; default: 8
	Version     string           // the version of Tallyman in the User-Agent
	Logger      *slog.Logger     // gets a warning if certificates or keys cannot be read; nil = no log
	Now         func() time.Time // the clock, as for the timestamps of signatures; default: time.Now
	Resolver    *net.Resolver    // nil = the resolver of the system
}

// TLS says how a connection differs from a browser's connection. Its files are read again when they change.
type TLS struct {
	CA         string // a file with the authorities to trust, instead of the system's
	Cert, Key  string // files with the client's certificate and its key
	ServerName string // the name in the server's certificate; default: the host of the URL
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

// target parses a URL. Its errors show the host at most, because the rest may be a secret.
func (o Options) target(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("webhook: the url cannot be read")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, errors.New("webhook: the url must be http://host/path or https://host/path")
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && !o.AllowPrivate {
		if err := guard.Check(a); err != nil {
			return nil, fmt.Errorf("webhook: %w; allow_private: true allows it", err)
		}
	}
	u.Fragment = ""
	return u, nil
}

// header returns the headers that all calls have. A site cannot replace the headers of the protocol.
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

// longWord is the length from which a part of a URL's path is likely to be a token.
const longWord = 16

// secrets returns the texts that no error may show.
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
	all = append(all, o.Values.Secrets()...)
	if o.Token != nil {
		all = append(all, scrub.Address(o.Token.URL.Reveal())...)
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if len(part) >= longWord {
			all = append(all, part)
		}
	}
	return all
}
