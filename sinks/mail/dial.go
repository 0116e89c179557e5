package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// patience bounds a session whose context has no end of its own.
const patience = 10 * time.Minute

// dialer opens sessions.
type dialer struct {
	host    string
	tls     *tls.Config
	direct  bool   // TLS from the first byte
	login   *login // nil = none
	options []gomail.Option
}

func newDialer(o *Options) (*dialer, error) {
	config, err := o.tlsConfig()
	if err != nil {
		return nil, err
	}
	policy := gomail.TLSMandatory
	if o.Security == None {
		policy = gomail.NoTLS
	}
	d := &dialer{host: o.Host, tls: config, direct: o.Security == TLS, options: []gomail.Option{
		gomail.WithPort(o.Port), gomail.WithTLSConfig(config), gomail.WithTimeout(patience), gomail.WithTLSPolicy(policy),
	}}
	if d.direct {
		d.options = append(d.options, gomail.WithSSL())
	}
	if o.Helo != "" {
		d.options = append(d.options, gomail.WithHELO(o.Helo))
	}
	if o.Username != "" {
		d.login = &login{user: o.Username, password: o.Password, host: o.Host, bare: o.Security == None}
	}
	if _, err := gomail.NewClient(o.Host, d.options...); err != nil {
		return nil, fmt.Errorf("mail: %w", err)
	}
	return d, nil
}

// dial opens a session: connected, encrypted, known to the server. It ends with ctx.
func (d *dialer) dial(ctx context.Context) (*session, error) {
	var conn net.Conn
	stop := func() bool { return true }
	options := append(slices.Clone(d.options), gomail.WithDialContextFunc(func(dialing context.Context, network, address string) (net.Conn, error) {
		raw, err := (&net.Dialer{}).DialContext(dialing, network, address)
		if err != nil {
			return nil, err
		}
		conn = raw
		stop = context.AfterFunc(ctx, func() { _ = raw.Close() })
		if !d.direct {
			return raw, nil
		}
		secure := tls.Client(raw, d.tls)
		return secure, secure.HandshakeContext(dialing)
	}))
	if d.login != nil {
		options = append(options, gomail.WithSMTPAuthCustom(d.login.again()))
	}
	client, err := open(ctx, d.host, options)
	alive := stop()
	if err == nil && alive {
		return &session{conn: conn, client: client}, nil
	}
	if conn != nil {
		_ = conn.Close() // the library leaves it open when it fails
	}
	return nil, fmt.Errorf("mail: no session with %s: %w", d.host, because(ctx, err))
}

func open(ctx context.Context, host string, options []gomail.Option) (*smtp.Client, error) {
	c, err := gomail.NewClient(host, options...)
	if err != nil {
		return nil, err
	}
	return c.DialToSMTPClientWithContext(ctx)
}

// because tells that the context's end is behind an error, which otherwise speaks of a closed connection.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	return err
}

var errNoLogin = errors.New("the server offers no authentication that is supported: SCRAM-SHA-256, SCRAM-SHA-1, PLAIN, LOGIN, CRAM-MD5")

// login authenticates by the best way that the server offers. A way that shows the password is taken only where the
// connection is encrypted, or never leaves the machine.
type login struct {
	user, password, host string
	bare                 bool // the connection is not encrypted, and the server is this machine

	chosen smtp.Auth
}

// again is the login for another session.
func (l *login) again() *login {
	return &login{user: l.user, password: l.password, host: l.host, bare: l.bare}
}

// Start chooses the way.
func (l *login) Start(server *smtp.ServerInfo) (string, []byte, error) {
	ways := []struct {
		name string
		make func() smtp.Auth
	}{
		{"SCRAM-SHA-256", func() smtp.Auth { return smtp.ScramSHA256Auth(l.user, l.password) }},
		{"SCRAM-SHA-1", func() smtp.Auth { return smtp.ScramSHA1Auth(l.user, l.password) }},
		{"PLAIN", func() smtp.Auth { return smtp.PlainAuth("", l.user, l.password, l.host, l.bare) }},
		{"LOGIN", func() smtp.Auth { return smtp.LoginAuth(l.user, l.password, l.host, l.bare) }},
		{"CRAM-MD5", func() smtp.Auth { return smtp.CRAMMD5Auth(l.user, l.password) }},
	}
	for _, w := range ways {
		if slices.Contains(server.Auth, w.name) {
			l.chosen = w.make()
			return l.chosen.Start(server)
		}
	}
	return "", nil, errNoLogin
}

// Next answers the server.
func (l *login) Next(fromServer []byte, more bool) ([]byte, error) {
	return l.chosen.Next(fromServer, more)
}
