package mail

import (
	"fmt"
	"net"
	netmail "net/mail"
	"regexp"
	"strings"

	"tallyman/internal/settings"
	"tallyman/rules/strictyaml"
	"tallyman/sinks"
)

// TypeName is the name of the type.
const TypeName = "mail"

// Type is the type of sink that hands mails to an SMTP server.
var Type = sinks.Type{Name: TypeName, New: func() sinks.Settings { return NewSettings() }}

// The codes of the settings.
const (
	CodeAddress = "bad_address"
	CodeHost    = "bad_host"
	CodeTLS     = "mail_without_tls"
)

// Settings are those of a sink of the type.
type Settings struct {
	sinks.PushSettings `yaml:",inline"`

	Host     Host            `yaml:"host" doc:"the mail server"`
	Port     int             `yaml:"port" min:"1" max:"65535" doc:"587; with tls: tls 465, with tls: none 25"`
	TLS      Security        `yaml:"tls" enum:"starttls,tls,none" doc:"starttls, tls, or none, which is for a server on this machine alone"`
	CA       settings.File   `yaml:"ca" doc:"authorities that are trusted instead of the system's"`
	Username string          `yaml:"username" doc:"none = without authentication"`
	Password settings.Secret `yaml:"password" doc:"needed with a username"`
	From     Address         `yaml:"from" doc:"the sender"`
	Helo     Host            `yaml:"helo" doc:"the name that Tallyman gives itself; none = that of the machine"`
	Subject  settings.File   `yaml:"subject" doc:"a template of the subject, instead of the built-in one"`
	Text     settings.File   `yaml:"text" doc:"a template of the text, instead of the built-in one"`
	HTML     settings.File   `yaml:"html" doc:"a template of the HTML, instead of the built-in one"`
}

// NewSettings are the defaults.
func NewSettings() *Settings {
	return &Settings{PushSettings: sinks.NewPushSettings(TypeName), TLS: StartTLS}
}

// Check implements strictyaml.Checker.
func (s *Settings) Check(at settings.Section) {
	if s.Port == 0 {
		s.Port = ports[s.TLS]
	}
	if s.Host == "" {
		at.Missing("host")
	}
	if s.From.Address == "" {
		at.Missing("from")
	}
	hasPassword := s.Password.Reveal() != "" || settings.IsOpen(at.In("password"))
	switch {
	case s.Username != "" && !hasPassword:
		at.Missing("password")
	case s.Username == "" && hasPassword:
		at.Missing("username")
	}
	if host := string(s.Host); s.TLS == None && host != "" && !loopback(host) {
		tls := at.In("tls")
		tls.Fail(CodeTLS, fmt.Sprintf("%s is none, and %s is another machine: everybody on the way could read the mails", tls, host),
			"use starttls or tls; none is for a mail server on this machine")
	}
}

// IsEach says that each subscriber gets a mail of their own.
func (s *Settings) IsEach() bool { return true }

// SecretTexts implements sinks.Settings.
func (s *Settings) SecretTexts() []string { return []string{s.Password.Reveal()} }

// Open implements sinks.ChannelSettings.
func (s *Settings) Open(site sinks.Site) (sinks.Channel, error) {
	return sinks.Opened(New(Options{
		Host: string(s.Host), Port: s.Port, Security: s.TLS, CA: string(s.CA), Username: s.Username, Password: s.Password.Reveal(),
		From: netmail.Address(s.From), Helo: string(s.Helo), Subject: string(s.Subject), Text: string(s.Text), HTML: string(s.HTML),
		Book: site.Book, Logger: site.Logger,
	}))
}

// Host is the name or the IP address of a machine, without a port.
type Host string

var hostPattern = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,62}))*\.?$`)

// DecodeYAML reads a host.
func (h *Host) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	s, ok := d.Text(name, n)
	if !ok {
		return
	}
	if net.ParseIP(s) == nil && (len(s) > 253 || !hostPattern.MatchString(s)) {
		d.Fail(n, CodeHost, fmt.Sprintf("%s: %q is no name of a machine", name, s), "a name or an IP address, without a port")
		return
	}
	*h = Host(s)
}

// Address is a mail address, which may have a name before it.
type Address netmail.Address

// DecodeYAML reads an address.
func (a *Address) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	s, ok := d.Text(name, n)
	if !ok {
		return
	}
	address, err := netmail.ParseAddress(s)
	if err != nil || strings.ContainsAny(s, "\r\n") {
		d.Fail(n, CodeAddress, fmt.Sprintf("%s: %q is no mail address", name, s), `"tallyman@example.com", or "Tallyman <tallyman@example.com>"`)
		return
	}
	*a = Address(*address)
}
