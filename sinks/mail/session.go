package mail

import (
	"context"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// farewell bounds the end of a session.
const farewell = 2 * time.Second

// session is a connection to the server that mails can be sent over, one at a time.
type session struct {
	conn   net.Conn
	client *smtp.Client
	sent   int
	idle   *time.Timer // ends it; while it waits in the pool
}

// errBroken says that a session cannot be used any more.
var errBroken = errors.New("the connection broke")

// send sends one mail to the addresses that the server takes. The session can be used again unless the error is an errBroken.
func (s *session) send(ctx context.Context, from string, to []*netmail.Address, msg *gomail.Msg) (*answer, error) {
	stop := s.bind(ctx)
	a, err := s.transact(from, to, msg)
	if !stop() {
		return nil, fmt.Errorf("mail: %w: %w", errBroken, because(ctx, err))
	}
	s.sent++
	return a, err
}

// bind has the connection end with the context.
func (s *session) bind(ctx context.Context) (stop func() bool) {
	_ = s.conn.SetDeadline(time.Now().Add(patience)) // what fails here fails at the first command
	return context.AfterFunc(ctx, func() { _ = s.conn.Close() })
}

func (s *session) transact(from string, to []*netmail.Address, msg *gomail.Msg) (*answer, error) {
	if err := s.client.Mail(from); err != nil {
		return nil, s.failed("MAIL", err) // whatever is wrong with our own address, a person mends it
	}
	a := &answer{}
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

// failed judges the failure of a command. Where the server has answered, the session goes on.
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

// reset gives up the mail that was begun.
func (s *session) reset() error {
	if err := s.client.Reset(); err != nil {
		return fmt.Errorf("mail: %w: RSET: %w", errBroken, err)
	}
	return nil
}

// usable tells whether the server still listens.
func (s *session) usable(ctx context.Context) bool {
	stop := s.bind(ctx)
	err := s.client.Noop()
	return stop() && err == nil
}

// close ends the session with good manners, and in any case.
func (s *session) close() {
	_ = s.conn.SetDeadline(time.Now().Add(farewell))
	_ = s.client.Quit() // its error changes nothing
	_ = s.conn.Close()
}
