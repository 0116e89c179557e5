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
	"strings"

	"tallyman/sinks"
)

// Security is how the connection to the server is protected.
type Security string

// The kinds.
const (
	StartTLS Security = "starttls" // plain at first, and nothing is said before it is encrypted
	TLS      Security = "tls"      // encrypted from the first byte
	None     Security = "none"     // not at all: a loopback address only
)

// Options configure a channel.
type Options struct {
	Host     string
	Port     int      // 0 = 587, with TLS 465, with None 25
	Security Security // "" = StartTLS
	CA       string   // file of certificates that the server's is checked against; "" = those of the system
	Username string   // "" = no authentication
	Password string
	From     netmail.Address
	Helo     string // the name that the server is greeted with; "" = the machine's

	// Files of templates instead of the built-in ones; "" = built-in.
	Subject, Text, HTML string

	Book   sinks.Book
	Logger *slog.Logger
}

// ports are those of submission (RFC 6409, RFC 8314) and of a server on this machine.
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
		return fmt.Errorf("mail: without tls only a server on a loopback address is used, and %s is none", o.Host)
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

// loopback tells whether a host is this machine, without asking a name server.
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
