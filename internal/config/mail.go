package config

import (
	"fmt"
	"net"
	"net/mail"
	"regexp"
	"strings"
)

// The codes of mail.
const (
	CodeAddress = "bad_address"
	CodeHost    = "bad_host"
	CodeMailTLS = "mail_without_tls"
)

// MailTLS says how the way to the mail server is kept secret.
type MailTLS string

// The ways.
const (
	MailStartTLS MailTLS = "starttls" // begins in the clear, and goes on only when it is no longer
	MailTLSOnly  MailTLS = "tls"      // from the first byte
	MailNoTLS    MailTLS = "none"     // to this machine alone
)

// MailSink is what a sink of type mail has beside what every push channel has.
type MailSink struct {
	Host     string
	Port     int
	TLS      MailTLS
	CA       string // a file with authorities instead of the system's, absolute; "" = the system's
	Username string // "" = without authentication
	Password Secret
	From     mail.Address
	Helo     string // the name that Tallyman gives itself; "" = that of the machine

	// Templates are files, absolute; "" = the built-in one.
	Subject, Text, HTML string
}

// ports are those that servers listen on, where none is set.
var ports = map[MailTLS]int{MailStartTLS: 587, MailTLSOnly: 465, MailNoTLS: 25}

func defaultMail() *MailSink { return &MailSink{TLS: MailStartTLS} }

func (m *MailSink) fields() map[string]field {
	return map[string]field{
		"host":     host(&m.Host),
		"port":     numberUpTo(&m.Port, 65535),
		"tls":      oneOf(&m.TLS, MailStartTLS, MailTLSOnly, MailNoTLS),
		"ca":       file(&m.CA),
		"username": text(&m.Username),
		"password": hidden(&m.Password),
		"from":     address(&m.From),
		"helo":     host(&m.Helo),
		"subject":  file(&m.Subject),
		"text":     file(&m.Text),
		"html":     file(&m.HTML),
	}
}

func (d *decoder) checkMail(at path, m *MailSink) {
	if m.Port == 0 {
		m.Port = ports[m.TLS]
	}
	if m.Host == "" {
		d.missing(at, "host")
	}
	if m.From.Address == "" {
		d.missing(at, "from")
	}
	hasPassword := m.Password.Reveal() != "" || d.open.has(at.to("password"))
	switch {
	case m.Username != "" && !hasPassword:
		d.missing(at, "password")
	case m.Username == "" && hasPassword:
		d.missing(at, "username")
	}
	if m.TLS == MailNoTLS && m.Host != "" && !isLoopback(m.Host) {
		d.fail(at.to("tls"), CodeMailTLS, fmt.Sprintf("%s is none, and %s is another machine: everybody on the way could read the mails", at.to("tls"), m.Host),
			"use starttls or tls; none is for a mail server on this machine")
	}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

var hostPattern = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,62}))*\.?$`)

// host reads the name or the IP address of a machine, without a port.
func host(dst *string) field {
	return func(d *decoder, at path, v any) {
		s, ok := d.text(at, v)
		if !ok {
			return
		}
		if net.ParseIP(s) == nil && (len(s) > 253 || !hostPattern.MatchString(s)) {
			d.fail(at, CodeHost, fmt.Sprintf("%s: %q is no name of a machine", at, s), "a name or an IP address, without a port")
			return
		}
		*dst = s
	}
}

// address reads a mail address, which may have a name before it.
func address(dst *mail.Address) field {
	return func(d *decoder, at path, v any) {
		s, ok := d.text(at, v)
		if !ok {
			return
		}
		a, err := mail.ParseAddress(s)
		if err != nil || strings.ContainsAny(s, "\r\n") {
			d.fail(at, CodeAddress, fmt.Sprintf("%s: %q is no mail address", at, s), `"tallyman@example.com", or "Tallyman <tallyman@example.com>"`)
			return
		}
		*dst = *a
	}
}
