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

// SMTPOptions are the requirements of a server for its clients.
type SMTPOptions struct {
	StartTLS bool   // The server offers STARTTLS. Authentication needs it.
	TLS      bool   // The connection uses TLS from the first byte.
	User     string // Empty means no authentication.
	Password string // The password of User.
}

// SMTPStep is a command that the server got.
type SMTPStep struct {
	Command string // HELO, AUTH, MAIL, RCPT, DATA
	Address string // The address of MAIL or RCPT.
}

// SMTPAnswer is the server's reaction to a command. The zero answer accepts the command.
type SMTPAnswer struct {
	Code int // The code of an error. 0 means no error.
	Text string
	Drop bool // The connection ends without an answer.
	Keep bool // With Drop, for DATA: the server keeps the mail, and then ends the connection.
	Hang bool // No answer comes until the server ends.
}

// Mail is a mail that the server has accepted.
type Mail struct {
	From string
	To   []string
	Data string
}

// SMTP is a real SMTP server on a loopback address. A test sets its answers with Script.
type SMTP struct {
	Host   string
	Port   int
	CAFile string // The PEM file of the authority that has signed the server's certificate.

	options SMTPOptions
	stop    chan struct{}

	mu       sync.Mutex
	script   func(SMTPStep) SMTPAnswer
	steps    []SMTPStep
	mails    []Mail
	sessions int
}

// NewSMTP starts a server, which ends with the test. It accepts everything until Script is called.
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
		server.TLSConfig = nil // The server does not offer STARTTLS.
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		close(s.stop)
		_ = l.Close() // Before Serve the server does not know the listener and cannot close it.
		_ = server.Close()
		<-done
	})
	return s
}

// Address returns host:port.
func (s *SMTP) Address() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }

// Script sets the server's answers from now on. The server calls the function from several goroutines.
func (s *SMTP) Script(script func(SMTPStep) SMTPAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = script
}

// Mails returns the accepted mails, in order.
func (s *SMTP) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mails)
}

// Count returns how often the server got the command.
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

// Sessions returns how many sessions clients have begun. With StartTLS each session begins twice.
func (s *SMTP) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions
}

// errDropped ends a command whose connection was dropped.
var errDropped = errors.New("dropped")

// step records a command and reacts as the script says.
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

// errKeep says that the mail is accepted and the connection dropped afterwards.
var errKeep = errors.New("keep")

// smtpSession is the session of one client.
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

// Reset drops the mail that was begun.
func (c *smtpSession) Reset() { c.mail = Mail{} }

// Logout ends the session.
func (c *smtpSession) Logout() error { return nil }

// quiet drops the server's log, which is full of connections that tests break.
type quiet struct{}

// Printf does nothing.
func (quiet) Printf(string, ...any) {}

// Println does nothing.
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

// Mail begins a mail of an authenticated client.
func (a *authSession) Mail(from string, o *smtp.MailOptions) error {
	if !a.known {
		return smtp.ErrAuthRequired
	}
	return a.smtpSession.Mail(from, o)
}
