package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"slices"
	"sync"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// farewell limits the time to say QUIT.
const farewell = 2 * time.Second

// session is a connection to the server. session sends one mail at a time.
type session struct {
	conn   net.Conn
	client *smtp.Client
	sent   int
	idle   *time.Timer // closes the session when it has waited too long in the pool; nil until put sets it
}

// errBroken means that a session cannot be used any more.
var errBroken = errors.New("the connection broke")

// send sends one mail to the addresses that the server accepts. The session stays usable unless the error is errBroken.
func (s *session) send(ctx context.Context, from string, to []*netmail.Address, msg *gomail.Msg) (*mailAnswer, error) {
	stop := s.bind(ctx)
	a, err := s.transact(from, to, msg)
	if !stop() {
		return nil, fmt.Errorf("mail: %w: %w", errBroken, because(ctx, err))
	}
	s.sent++
	return a, err
}

// bind closes the connection when the context ends. stop returns false if that has happened.
func (s *session) bind(ctx context.Context) (stop func() bool) {
	_ = s.conn.SetDeadline(time.Now().Add(sessionTimeout)) // an error here shows at the first command as well
	return context.AfterFunc(ctx, func() { _ = s.conn.Close() })
}

func (s *session) transact(from string, to []*netmail.Address, msg *gomail.Msg) (*mailAnswer, error) {
	if err := s.client.Mail(from); err != nil {
		return nil, s.failed("MAIL", err) // a refused sender address is a fault of the settings, never of the notice
	}
	a := &mailAnswer{}
	for _, t := range to {
		switch err := s.client.Rcpt(t.Address); {
		case err == nil:
			a.accepted = append(a.accepted, t.Address)
		case forGood(err):
			a.refused = append(a.refused, reply{t.Address, err})
		case answered(err):
			a.later = append(a.later, reply{t.Address, err})
		default:
			return nil, s.failed("RCPT", err)
		}
	}
	if len(a.accepted) == 0 {
		return a, s.reset()
	}
	return a, s.data(msg)
}

func (s *session) data(msg *gomail.Msg) error {
	w, err := s.client.Data()
	if err != nil {
		return s.failed("DATA", err)
	}
	if _, err := msg.WriteTo(w); err != nil {
		return fmt.Errorf("mail: %w: %w", errBroken, err)
	}
	if err := w.Close(); err != nil {
		return s.failed("the mail", err)
	}
	return nil
}

// failed judges a failed command. If the server has replied, the session stays usable.
func (s *session) failed(what string, err error) error {
	named := fmt.Errorf("mail: %s: %w", what, err)
	if !answered(err) {
		return fmt.Errorf("%w: %w", errBroken, named)
	}
	if resetErr := s.reset(); resetErr != nil {
		named = fmt.Errorf("%w: %w", errBroken, named)
	}
	if what != "MAIL" && forGood(err) {
		return &refusedError{named}
	}
	return named
}

// reset drops the mail that was begun.
func (s *session) reset() error {
	if err := s.client.Reset(); err != nil {
		return fmt.Errorf("mail: %w: RSET: %w", errBroken, err)
	}
	return nil
}

// usable tells whether the server still answers.
func (s *session) usable(ctx context.Context) bool {
	stop := s.bind(ctx)
	err := s.client.Noop()
	return stop() && err == nil
}

// close says QUIT to the server, and closes the connection in any case.
func (s *session) close() {
	_ = s.conn.SetDeadline(time.Now().Add(farewell))
	_ = s.client.Quit() // an error here changes nothing
	_ = s.conn.Close()
}

// The limits of sessions. Servers dislike connections that stay silent for long, and connections that send without an
// end.
const (
	maxIdle     = 8                // the most idle sessions
	idleFor     = 20 * time.Second // how long a session may be idle
	maxASession = 100              // how many mails a session may send
)

// pool keeps idle sessions for later mails, so that not every mail needs a handshake.
type pool struct {
	dial func(context.Context) (*session, error)

	mu     sync.Mutex
	idle   []*session
	closed bool
}

func newPool(dial func(context.Context) (*session, error)) *pool { return &pool{dial: dial} }

// send sends the mail over an idle session, or over a new one.
func (p *pool) send(ctx context.Context, from string, to []*netmail.Address, msg *gomail.Msg) (*mailAnswer, error) {
	s, err := p.get(ctx)
	if err != nil {
		return nil, err
	}
	a, err := s.send(ctx, from, to, msg)
	if errors.Is(err, errBroken) {
		_ = s.conn.Close()
	} else {
		p.put(s)
	}
	return a, err
}

// get returns a session that works. get first tries the session that was idle for the shortest time, because this
// session is the most likely to work.
func (p *pool) get(ctx context.Context) (*session, error) {
	for s := p.take(); s != nil; s = p.take() {
		if s.usable(ctx) {
			return s, nil
		}
		_ = s.conn.Close()
	}
	return p.dial(ctx)
}

func (p *pool) take() *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := len(p.idle); n > 0; n = len(p.idle) {
		s := p.idle[n-1]
		p.idle = p.idle[:n-1]
		if s.idle.Stop() {
			return s
		} // else the timer of s has fired and closes s
	}
	return nil
}

func (p *pool) put(s *session) {
	p.mu.Lock()
	keep := !p.closed && s.sent < maxASession && len(p.idle) < maxIdle
	if keep {
		s.idle = time.AfterFunc(idleFor, func() { p.drop(s) })
		p.idle = append(p.idle, s)
	}
	p.mu.Unlock()
	if !keep {
		s.close()
	}
}

// drop closes a session that was idle for too long.
func (p *pool) drop(s *session) {
	p.mu.Lock()
	for i, other := range p.idle {
		if other == s {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			break
		}
	}
	p.mu.Unlock()
	s.close()
}

// close closes the idle sessions. Busy sessions are closed when their mail is done.
func (p *pool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, s := range idle {
		if s.idle.Stop() {
			s.close()
		}
	}
}

// sessionTimeout limits a session whose context has no deadline.
const sessionTimeout = 10 * time.Minute

// dialer opens sessions.
type dialer struct {
	host    string
	tls     *tls.Config
	direct  bool   // true = TLS from the first byte
	login   *login // nil = no login
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
		gomail.WithPort(o.Port), gomail.WithTLSConfig(config), gomail.WithTimeout(sessionTimeout), gomail.WithTLSPolicy(policy),
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

// dial opens a session: it connects, and encrypts and logs in as the options say. If ctx ends first, dial fails.
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
		_ = conn.Close() // the library does not close it after a failure
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

// because adds the reason why the context ended. Without it, the error would only say that the connection was closed.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	return err
}

var errNoLogin = errors.New("the server offers no authentication that is supported: SCRAM-SHA-256, SCRAM-SHA-1, PLAIN, LOGIN, CRAM-MD5")

// login authenticates by the best mechanism that the server offers. Mechanisms that show the password are used only if
// the connection is encrypted, or stays on this machine.
type login struct {
	user, password, host string
	bare                 bool // the connection is not encrypted, and the server runs on this machine

	chosen smtp.Auth
}

// again returns a login for another session, since a login keeps the state of its session.
func (l *login) again() *login {
	return &login{user: l.user, password: l.password, host: l.host, bare: l.bare}
}

// Start chooses the mechanism. The list has the best one first.
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

// Next answers a challenge of the server.
func (l *login) Next(fromServer []byte, more bool) ([]byte, error) {
	return l.chosen.Next(fromServer, more)
}
