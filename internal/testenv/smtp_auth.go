package testenv

import (
	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

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
