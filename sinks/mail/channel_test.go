package mail_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"tallyman/internal/delivery"
	"tallyman/internal/testenv"
	"tallyman/sinks"
	"tallyman/sinks/mail"
)

// at answers one command so, and takes the rest.
func at(command, address string, a testenv.SMTPAnswer) func(testenv.SMTPStep) testenv.SMTPAnswer {
	return func(s testenv.SMTPStep) testenv.SMTPAnswer {
		if s.Command == command && (address == "" || s.Address == address) {
			return a
		}
		return testenv.SMTPAnswer{}
	}
}

func TestARoleGetsOneMail(t *testing.T) {
	t.Parallel()
	server := testenv.NewSMTP(t, secured)
	c := newChannel(t, options(server, keepers("Ann Lee <ann@example.com>", "bob@example.com", "Bob again <BOB@example.com>")))
	push(t, c, someDelivery())
	mails := server.Mails()
	if len(mails) != 1 || !slices.Equal(mails[0].To, []string{"ann@example.com", "bob@example.com"}) || mails[0].From != "tallyman@wms.example.com" {
		t.Errorf("%+v", mails)
	}
}

func TestWhatAReplyMeans(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		command string
		code    int
		refused bool
	}{
		{"MAIL", 550, false}, // the sender is configured: a person mends it
		{"MAIL", 451, false},
		{"RCPT", 550, true},
		{"RCPT", 553, true},
		{"RCPT", 530, false}, // authentication required
		{"RCPT", 450, false}, // greylisting
		{"RCPT", 421, false}, // and the server hangs up
		{"DATA", 554, true},
		{"DATA", 552, true},
		{"DATA", 503, false},
		{"DATA", 452, false},
		{"DATA", 421, false},
		{"AUTH", 535, false},
		{"AUTH", 454, false},
		{"HELO", 554, false},
	} {
		server := testenv.NewSMTP(t, secured)
		c := newChannel(t, options(server, keepers()))
		server.Script(at(test.command, "", testenv.SMTPAnswer{Code: test.code, Text: "because of tests"}))
		err := c.Push(t.Context(), []delivery.Delivery{someDelivery()})
		_, refused := errors.AsType[*sinks.RefusedError](err)
		if err == nil || refused != test.refused || !strings.Contains(err.Error(), "because of tests") {
			t.Errorf("%s %d: refused %v: %v", test.command, test.code, refused, err)
		}
		server.Script(at("", "", testenv.SMTPAnswer{}))
		push(t, c, someDelivery())
	}
}

func TestAddressesThatAreRefusedAreLeftOutAndNamed(t *testing.T) {
	t.Parallel()
	server, log := testenv.NewSMTP(t, secured), &testenv.Output{}
	o := options(server, keepers("ann@example.com", "gone@example.com", "no address"))
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	c := newChannel(t, o)
	server.Script(at("RCPT", "gone@example.com", testenv.SMTPAnswer{Code: 550, Text: "no such user " + password}))
	push(t, c, someDelivery())
	if mails := server.Mails(); len(mails) != 1 || !slices.Equal(mails[0].To, []string{"ann@example.com"}) {
		t.Errorf("%+v", mails)
	}
	if text := log.String(); !strings.Contains(text, "gone@example.com: 550") || !strings.Contains(text, "no address") || strings.Contains(text, password) {
		t.Error(text)
	}
	server.Script(at("RCPT", "", testenv.SMTPAnswer{Code: 550, Text: "no such user"}))
	if text := refused(t, c, someDelivery()); !strings.Contains(text, "ann@example.com: 550") || !strings.Contains(text, "gone@example.com: 550") {
		t.Error(text)
	}
}

// An address that is put off is tried again alone: the others have the mail.
func TestAddressesThatArePutOff(t *testing.T) {
	t.Parallel()
	server := testenv.NewSMTP(t, secured)
	c := newChannel(t, options(server, keepers("ann@example.com", "full@example.com")))
	server.Script(at("RCPT", "full@example.com", testenv.SMTPAnswer{Code: 452, Text: "mailbox full"}))
	for range 2 {
		if text := transient(t, c, someDelivery()); !strings.Contains(text, "full@example.com: 452") || strings.Contains(text, "ann@") {
			t.Error(text)
		}
	}
	server.Script(at("", "", testenv.SMTPAnswer{}))
	push(t, c, someDelivery())
	mails := server.Mails()
	if len(mails) != 2 || !slices.Equal(mails[0].To, []string{"ann@example.com"}) || !slices.Equal(mails[1].To, []string{"full@example.com"}) {
		t.Fatalf("%+v", mails)
	}
	if a, b := parse(t, mails[0]).Header.Get("Message-Id"), parse(t, mails[1]).Header.Get("Message-Id"); a != b {
		t.Errorf("%s and %s", a, b)
	}
	push(t, c, someDelivery()) // a push after the end is another one
	if mails := server.Mails(); len(mails) != 3 || len(mails[2].To) != 2 {
		t.Errorf("%+v", mails)
	}
}

// What is put off and then refused ends as sent: somebody has it.
func TestPutOffAndThenRefused(t *testing.T) {
	t.Parallel()
	server := testenv.NewSMTP(t, secured)
	c := newChannel(t, options(server, keepers("ann@example.com", "full@example.com")))
	server.Script(at("RCPT", "full@example.com", testenv.SMTPAnswer{Code: 452, Text: "mailbox full"}))
	transient(t, c, someDelivery())
	server.Script(at("RCPT", "full@example.com", testenv.SMTPAnswer{Code: 550, Text: "gone"}))
	push(t, c, someDelivery())
}

func TestSubscribersWithoutAnAddress(t *testing.T) {
	t.Parallel()
	server := testenv.NewSMTP(t, secured)
	for name, b := range map[string]book{
		"not in the book": {}, "no address": {"role:keeper": {ID: "role:keeper"}},
		"none that is one": keepers("x", "Ann <ann>", "a@b@", "ann@example.com\r\nRCPT TO:<x@y>"),
	} {
		if text := refused(t, newChannel(t, options(server, b)), someDelivery()); !strings.Contains(text, "address") {
			t.Errorf("%s: %s", name, text)
		}
	}
	several := someDelivery()
	several.Recipients = []string{"role:keeper", "user:1"}
	refused(t, newChannel(t, options(server, keepers())), several)
	if n := server.Count("MAIL"); n != 0 {
		t.Errorf("%d mails begun", n)
	}
}

// away is a book that cannot be read.
type away struct{ err error }

// Subscribers fails.
func (a away) Subscribers(context.Context, []string) (map[string]delivery.Subscriber, error) {
	return nil, a.err
}

func TestABookThatIsAway(t *testing.T) {
	t.Parallel()
	o := options(testenv.NewSMTP(t, secured), nil)
	o.Book = away{errors.New("the ledger is away")}
	if text := transient(t, newChannel(t, o), someDelivery()); !strings.Contains(text, "the ledger is away") {
		t.Error(text)
	}
}

// var of the interface that delivery asks for.
var _ sinks.Pusher = (*mail.Channel)(nil)
