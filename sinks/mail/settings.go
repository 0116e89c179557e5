package mail

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	netmail "net/mail"
	"os"
	"regexp"
	"strconv"
	"strings"

	"tallyman/internal/delivery"
	"tallyman/internal/settings"
	"tallyman/rules/strictyaml"
	"tallyman/sinks"
)

// TypeName is the name of the type.
const TypeName = "mail"

// Type is the type of sink that hands mails to an SMTP server.
var Type = sinks.Type{Name: TypeName, New: func() sinks.Settings { return NewSettings() }}

// The codes of problems in the settings.
const (
	CodeAddress = "bad_address"
	CodeHost    = "bad_host"
	CodeTLS     = "mail_without_tls"
)

// Settings are the settings of a sink of this type.
type Settings struct {
	sinks.PushSettings `yaml:",inline"`

	Host     Host            `yaml:"host" doc:"the mail server"`
	Port     int             `yaml:"port" min:"1" max:"65535" doc:"the port of the mail server"`
	TLS      Security        `yaml:"tls" enum:"starttls,tls,none" doc:"starttls, tls, or none; none is accepted only for a server on this machine"`
	CA       settings.File   `yaml:"ca" doc:"a file with the authorities to trust, instead of the system's"`
	Username string          `yaml:"username" doc:"the name to log in with; if it is not set, Tallyman does not log in"`
	Password settings.Secret `yaml:"password" doc:"needed with a username"`
	From     Address         `yaml:"from" doc:"the sender"`
	Helo     Host            `yaml:"helo" doc:"the name that Tallyman gives itself"`
	Subject  settings.File   `yaml:"subject" doc:"a template of the subject, instead of the built-in one"`
	Text     settings.File   `yaml:"text" doc:"a template of the text, instead of the built-in one"`
	HTML     settings.File   `yaml:"html" doc:"a template of the HTML, instead of the built-in one"`
}

// NewSettings returns the default settings.
func NewSettings() *Settings {
	return &Settings{PushSettings: sinks.NewPushSettings(TypeName), TLS: StartTLS}
}

// Notes implements strictyaml.Noter.
func (s *Settings) Notes() map[string]strictyaml.Note {
	return map[string]strictyaml.Note{
		"port": {Default: fmt.Sprintf("%d; with tls: tls %d, with tls: none %d", ports[StartTLS], ports[TLS], ports[None])},
		"helo": {Default: "the name of the machine"},
	}
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
		tls.Fail(CodeTLS, fmt.Sprintf("%s is none, and %s is another machine: others in the network could read the mails", tls, host),
			"use starttls or tls; none is for a mail server on this machine")
	}
}

// IsEach returns true: each subscriber gets a mail of their own.
func (s *Settings) IsEach() bool { return true }

// NeedsAddress returns the kind of address that a subscriber needs to get a mail.
func (s *Settings) NeedsAddress() string { return delivery.AddressMail }

// SecretTexts implements sinks.Settings.
func (s *Settings) SecretTexts() []string { return []string{s.Password.Reveal()} }

// Endpoint implements sinks.Reachable.
func (s *Settings) Endpoint() sinks.Endpoint {
	return sinks.Endpoint{Address: net.JoinHostPort(string(s.Host), strconv.Itoa(s.Port)), TLS: s.TLS == TLS, ServerName: string(s.Host), CA: string(s.CA)}
}

// Open implements sinks.ChannelSettings.
func (s *Settings) Open(site sinks.Site) (sinks.Channel, error) {
	return sinks.Opened(New(Options{
		Host: string(s.Host), Port: s.Port, Security: s.TLS, CA: string(s.CA), Username: s.Username, Password: s.Password.Reveal(),
		From: netmail.Address(s.From), Helo: string(s.Helo), Subject: string(s.Subject), Text: string(s.Text), HTML: string(s.HTML),
		Book: site.Book, Logger: site.Logger,
	}))
}

// Host is the name or IP address of a machine, without a port.
type Host string

var hostPattern = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,62}))*\.?$`)

const hostForm = "a name or an IP address, without a port"

// Takes says what a host may be.
func (h Host) Takes() string { return hostForm }

// DecodeYAML reads a host.
func (h *Host) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	s, ok := d.Text(name, n)
	if !ok {
		return
	}
	if net.ParseIP(s) == nil && (len(s) > 253 || !hostPattern.MatchString(s)) {
		d.Fail(n, CodeHost, fmt.Sprintf("%s: %q is no name of a machine", name, s), hostForm)
		return
	}
	*h = Host(s)
}

// Address is a mail address, with or without a name in front.
type Address netmail.Address

const addressForm = `"tallyman@example.com", or "Tallyman <tallyman@example.com>"`

// Takes says what a mail address may be.
func (a Address) Takes() string { return addressForm }

// DecodeYAML reads an address.
func (a *Address) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	s, ok := d.Text(name, n)
	if !ok {
		return
	}
	address, err := netmail.ParseAddress(s)
	if err != nil || strings.ContainsAny(s, "\r\n") {
		d.Fail(n, CodeAddress, fmt.Sprintf("%s: %q is no mail address", name, s), addressForm)
		return
	}
	*a = Address(*address)
}

// Security says how the connection to the server is protected.
type Security string

// The kinds of protection.
const (
	StartTLS Security = "starttls" // starts unencrypted, and sends nothing of a mail before the encryption is on
	TLS      Security = "tls"      // encrypted from the first byte
	None     Security = "none"     // no encryption, for a loopback address only
)

// Options has everything that a mail channel is made of.
type Options struct {
	Host     string
	Port     int      // 0 = 587, or 465 with TLS, or 25 with None
	Security Security // "" = StartTLS
	// a file with the CA certificates against which the server's certificate is checked; "" = the system's certificates
	CA       string
	Username string // "" = no authentication
	Password string
	From     netmail.Address
	Helo     string // the name in the greeting; "" = the name of the machine

	// Template files; "" = the built-in template.
	Subject, Text, HTML string

	Book   delivery.Addresses
	Logger *slog.Logger
}

// ports are the default ports: the ports of submission (RFC 6409, RFC 8314), and 25 for a server on this machine.
var ports = map[Security]int{StartTLS: 587, TLS: 465, None: 25}

func (o *Options) setDefaults() {
	if o.Security == "" {
		o.Security = StartTLS
	}
	if o.Port == 0 {
		o.Port = ports[o.Security]
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

func (o *Options) check() error {
	switch {
	case o.Host == "" || strings.ContainsAny(o.Host, " \r\n/"):
		return fmt.Errorf("mail: the host %q is no name of a server", o.Host)
	case ports[o.Security] == 0:
		return fmt.Errorf("mail: tls is %s, %s or %s, not %q", StartTLS, TLS, None, o.Security)
	case o.Port < 1 || o.Port > 65535:
		return fmt.Errorf("mail: there is no port %d", o.Port)
	case o.Security == None && !loopback(o.Host):
		return fmt.Errorf("mail: without tls the server must be on a loopback address; %s is another machine", o.Host)
	case o.Username == "" && o.Password != "":
		return errors.New("mail: a password without a username")
	case !validAddress(o.From.Address):
		return fmt.Errorf("mail: from %q is no address", o.From.Address)
	case o.Book == nil:
		return errors.New("mail: no address book")
	default:
		return nil
	}
}

// loopback tells whether a host is this machine. loopback does not ask a name server.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

func (o *Options) tlsConfig() (*tls.Config, error) {
	config := &tls.Config{ServerName: o.Host, MinVersion: tls.VersionTLS12}
	if o.CA == "" {
		return config, nil
	}
	pem, err := os.ReadFile(o.CA)
	if err != nil {
		return nil, fmt.Errorf("mail: the certificates of the CA: %w", err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("mail: %s has no certificate in PEM form", o.CA)
	}
	return config, nil
}
