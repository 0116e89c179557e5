package testenv

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// SMTPOptions say what a server asks of its clients.
type SMTPOptions struct {
	StartTLS bool // offered; authentication needs it
	TLS      bool // from the first byte
	User     string
	Password string // of User; "" = nobody authenticates
}

// SMTPStep is a command that a server has been given.
type SMTPStep struct {
	Command string // HELO, AUTH, MAIL, RCPT, DATA
	Address string // of MAIL and RCPT
}

// SMTPAnswer is what a server does then. The zero answer takes it.
type SMTPAnswer struct {
	Code int // other than 0: this error
	Text string
	Drop bool // the connection ends without an answer
	Keep bool // with Drop of DATA: but the mail is taken
	Hang bool // no answer until the server ends
}

// Mail is what a server has taken.
type Mail struct {
	From string
	To   []string
	Data string
}

// SMTP is a real SMTP server on a loopback address that does with mails what a test wants.
type SMTP struct {
	Host   string
	Port   int
	CAFile string // the certificate that its own is checked against, in PEM form

	options SMTPOptions
	stop    chan struct{}

	mu       sync.Mutex
	script   func(SMTPStep) SMTPAnswer
	steps    []SMTPStep
	mails    []Mail
	sessions int
}

// NewSMTP starts a server, which ends with the test. It takes everything until Script is called.
func NewSMTP(t testing.TB, o SMTPOptions) *SMTP {
	t.Helper()
	s := &SMTP{options: o, stop: make(chan struct{}), script: func(SMTPStep) SMTPAnswer { return SMTPAnswer{} }}
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		s.mu.Lock()
		s.sessions++
		s.mu.Unlock()
		if err := s.step(c, SMTPStep{Command: "HELO"}); err != nil {
			return nil, err
		}
		session := &smtpSession{server: s, conn: c}
		if o.User != "" {
			return &authSession{smtpSession: session}, nil
		}
		return session, nil
	}))
	server.Domain, server.MaxRecipients, server.MaxMessageBytes = "mail.test", 100, 10<<20
	server.ErrorLog = quiet{}
	server.AllowInsecureAuth = !o.StartTLS && !o.TLS
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().(*net.TCPAddr)
	s.Host, s.Port = addr.IP.String(), addr.Port
	if o.StartTLS || o.TLS {
		ca := NewAuthority(t, "mail.test")
		server.TLSConfig, s.CAFile = &tls.Config{Certificates: []tls.Certificate{ca.Pair("localhost")}}, ca.File()
	}
	if o.TLS {
		l = tls.NewListener(l, server.TLSConfig)
		server.TLSConfig = nil // nothing to offer in the clear
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		close(s.stop)
		_ = l.Close() // a server that does not serve yet does not know it
		_ = server.Close()
		<-done
	})
	return s
}

// Address is host:port.
func (s *SMTP) Address() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }

// Script has the server answer so from now on. It is called from several goroutines.
func (s *SMTP) Script(script func(SMTPStep) SMTPAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = script
}

// Mails returns what the server has taken, in that order.
func (s *SMTP) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mails)
}

// Count tells how often the server was given the command.
func (s *SMTP) Count(command string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, step := range s.steps {
		if step.Command == command {
			n++
		}
	}
	return n
}

// Sessions tells how many sessions clients have begun; with StartTLS, each begins twice.
func (s *SMTP) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions
}

// errDropped ends a command whose connection was dropped.
var errDropped = errors.New("dropped")

// step records a command and does what the script says.
func (s *SMTP) step(c *smtp.Conn, step SMTPStep) error {
	s.mu.Lock()
	s.steps = append(s.steps, step)
	script := s.script
	s.mu.Unlock()
	a := script(step)
	switch {
	case a.Hang:
		<-s.stop
		return errDropped
	case a.Drop && a.Keep:
		return errKeep
	case a.Drop:
		_ = c.Conn().Close()
		return errDropped
	case a.Code != 0:
		return &smtp.SMTPError{Code: a.Code, EnhancedCode: smtp.EnhancedCode{a.Code / 100, 0, 0}, Message: a.Text}
	}
	return nil
}

// errKeep says that the mail is taken and the connection dropped then.
var errKeep = errors.New("keep")

// smtpSession is one client.
type smtpSession struct {
	server *SMTP
	conn   *smtp.Conn
	mail   Mail
}

// Mail begins a mail.
func (c *smtpSession) Mail(from string, _ *smtp.MailOptions) error {
	c.mail = Mail{From: from}
	return c.server.step(c.conn, SMTPStep{Command: "MAIL", Address: from})
}

// Rcpt adds an address.
func (c *smtpSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	if err := c.server.step(c.conn, SMTPStep{Command: "RCPT", Address: to}); err != nil {
		return err
	}
	c.mail.To = append(c.mail.To, to)
	return nil
}

// Data takes the mail.
func (c *smtpSession) Data(r io.Reader) error {
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	c.mail.Data = string(b)
	err = c.server.step(c.conn, SMTPStep{Command: "DATA"})
	if err == nil || errors.Is(err, errKeep) {
		c.server.mu.Lock()
		c.server.mails = append(c.server.mails, c.mail)
		c.server.mu.Unlock()
	}
	if errors.Is(err, errKeep) {
		_ = c.conn.Conn().Close()
	}
	return err
}

// Reset gives up the mail that was begun.
func (c *smtpSession) Reset() { c.mail = Mail{} }

// Logout ends the session.
func (c *smtpSession) Logout() error { return nil }

// quiet drops what the server would log of connections that tests break.
type quiet struct{}

// Printf drops it.
func (quiet) Printf(string, ...any) {}

// Println drops it.
func (quiet) Println(...any) {}

// authSession is an smtpSession that authenticates by PLAIN.
type authSession struct {
	*smtpSession
	known bool
}

// AuthMechanisms offers PLAIN.
func (a *authSession) AuthMechanisms() []string { return []string{sasl.Plain} }

// Auth checks user and password.
func (a *authSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if err := a.server.step(a.conn, SMTPStep{Command: "AUTH"}); err != nil {
			return err
		}
		if o := a.server.options; user != o.User || password != o.Password {
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "wrong password " + password}
		}
		a.known = true
		return nil
	}), nil
}

// Mail begins a mail of a client that is known.
func (a *authSession) Mail(from string, o *smtp.MailOptions) error {
	if !a.known {
		return smtp.ErrAuthRequired
	}
	return a.smtpSession.Mail(from, o)
}
