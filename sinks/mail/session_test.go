package mail_test

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/testenv"
	"tallyman/sinks/mail"
)

func TestASessionIsReused(t *testing.T) {
	t.Parallel()
	server := testenv.NewSMTP(t, secured)
	c := newChannel(t, options(server, keepers()))
	for range 5 {
		push(t, c, someDelivery())
	}
	server.Script(at("RCPT", "", testenv.SMTPAnswer{Code: 550, Text: "no"}))
	refused(t, c, someDelivery()) // and the session goes on
	server.Script(at("", "", testenv.SMTPAnswer{}))
	push(t, c, someDelivery())
	if n := server.Count("AUTH"); n != 1 || len(server.Mails()) != 6 {
		t.Errorf("%d sessions for %d mails", n, len(server.Mails()))
	}
}

func TestASessionEndsAfterAHundredMails(t *testing.T) {
	t.Parallel()
	server := testenv.NewSMTP(t, secured)
	c := newChannel(t, options(server, keepers()))
	for range 101 {
		push(t, c, someDelivery())
	}
	if n := server.Count("AUTH"); n != 2 {
		t.Errorf("%d sessions", n)
	}
}

// A server that closed an idle session costs no attempt, because a session is checked before it is used.
func TestASessionThatDied(t *testing.T) {
	t.Parallel()
	server := testenv.NewSMTP(t, testenv.SMTPOptions{})
	proxy := testenv.NewProxy(t, server.Address())
	o := plain(server)
	_, port, err := net.SplitHostPort(proxy.Addr)
	if err != nil {
		t.Fatal(err)
	}
	if o.Port, err = strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	c := newChannel(t, o)
	push(t, c, someDelivery())
	proxy.Point(server.Address()) // breaks the connections of now
	push(t, c, someDelivery())
	if n := server.Sessions(); n != 2 {
		t.Errorf("%d sessions", n)
	}
	proxy.Cut()
	transient(t, c, someDelivery())
}

// plain returns options for a server on this machine without encryption and login.
func plain(s *testenv.SMTP) mail.Options {
	o := options(s, keepers())
	o.Security, o.Username, o.Password = mail.None, "", ""
	return o
}

func TestSecurity(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		server  testenv.SMTPOptions
		options func(*mail.Options)
		want    string // "" = sent
	}{
		"starttls":            {server: secured},
		"tls":                 {server: testenv.SMTPOptions{TLS: true, User: "tally", Password: password}, options: func(o *mail.Options) { o.Security = mail.TLS }},
		"none":                {options: func(o *mail.Options) { *o = anonymous(*o, mail.None) }},
		"none, known":         {server: testenv.SMTPOptions{User: "tally", Password: password}, options: func(o *mail.Options) { o.Security = mail.None }},
		"not offered":         {want: "STARTTLS"},
		"not offered, no CA":  {server: secured, options: func(o *mail.Options) { o.CA = "" }, want: "certificate"},
		"tls, no CA":          {server: testenv.SMTPOptions{TLS: true}, options: func(o *mail.Options) { *o = anonymous(*o, mail.TLS); o.CA = "" }, want: "certificate"},
		"tls to plain":        {options: func(o *mail.Options) { *o = anonymous(*o, mail.TLS) }, want: "tls"},
		"wrong password":      {server: secured, options: func(o *mail.Options) { o.Password = "wrong-4711" }, want: "535"},
		"nobody is asked":     {server: testenv.SMTPOptions{StartTLS: true}, want: "no authentication that is supported"},
		"a name is asked for": {server: secured, options: func(o *mail.Options) { *o = anonymous(*o, mail.StartTLS) }, want: "authenticate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := testenv.NewSMTP(t, test.server)
			o := options(server, keepers())
			if test.options != nil {
				test.options(&o)
			}
			c := newChannel(t, o)
			if test.want == "" {
				push(t, c, someDelivery())
				return
			}
			text := transient(t, c, someDelivery())
			if !strings.Contains(strings.ToLower(text), strings.ToLower(test.want)) || strings.Contains(text, "4711") {
				t.Error(text)
			}
			if n := len(server.Mails()); n != 0 {
				t.Errorf("%d mails", n)
			}
		})
	}
}

func anonymous(o mail.Options, s mail.Security) mail.Options {
	o.Security, o.Username, o.Password = s, "", ""
	return o
}

// TestTimeouts tests that the context ends a push wherever the server is silent, and that the next push succeeds.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"HELO", "AUTH", "MAIL", "RCPT", "DATA"} {
		server := testenv.NewSMTP(t, secured)
		c := newChannel(t, options(server, keepers()))
		server.Script(at(command, "", testenv.SMTPAnswer{Hang: true}))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err := c.Push(ctx, []delivery.Delivery{someDelivery()})
		cancel()
		if err == nil || !strings.Contains(err.Error(), context.DeadlineExceeded.Error()) {
			t.Errorf("%s: %v", command, err)
		}
		server.Script(at("", "", testenv.SMTPAnswer{}))
		push(t, c, someDelivery())
	}
}
