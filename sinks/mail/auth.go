package mail

import (
	"errors"
	"slices"

	"github.com/wneessen/go-mail/smtp"
)

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
