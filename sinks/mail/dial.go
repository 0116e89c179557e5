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
