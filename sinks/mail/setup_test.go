package mail_test

import (
	"context"
	"errors"
	netmail "net/mail"
	"strings"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
	"tallyman/sinks"
	"tallyman/sinks/mail"
)

// book is an address book.
type book map[string]delivery.Subscriber

// Subscribers returns the entries.
func (b book) Subscribers(_ context.Context, ids []string) (map[string]delivery.Subscriber, error) {
	out := map[string]delivery.Subscriber{}
	for _, id := range ids {
		if s, ok := b[id]; ok {
			out[id] = s
		}
	}
	return out, nil
}

// keepers is the role that most tests mail to.
func keepers(addresses ...string) book {
	if len(addresses) == 0 {
		addresses = []string{"Ann Lee <ann@example.com>"}
	}
	return book{"role:keeper": {ID: "role:keeper", Name: "Keepers", Mail: addresses}}
}

// password is a secret of every channel that authenticates here.
const password = "hush-hush-4711"

// options are those of a channel that mails to the server.
func options(s *testenv.SMTP, b delivery.Addresses) mail.Options {
	return mail.Options{
		Host: s.Host, Port: s.Port, CA: s.CAFile, Security: mail.StartTLS, Username: "tally", Password: password,
		From: netmail.Address{Name: "Tallyman", Address: "tallyman@wms.example.com"}, Helo: "node.example.com", Book: b,
	}
}

// secured are the options of a server that the channel of options is welcome at.
var secured = testenv.SMTPOptions{StartTLS: true, User: "tally", Password: password}

func newChannel(t testing.TB, o mail.Options) *mail.Channel {
	t.Helper()
	c, err := mail.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// delivery is a notice on its way to the keepers.
func someDelivery() delivery.Delivery {
	created := time.Date(2026, 6, 1, 0, 10, 0, 0, time.UTC)
	return delivery.Delivery{Seq: 7, Recipients: []string{"role:keeper"}, Notice: &notice.Notice{
		ID: "n_aaaaaaaaaaaaaaaaaaaaaaaaaa", Type: "REP_NOTICE", TypeID: 124719, Warehouse: "119240", Rule: "negative-bin-stock",
		Scope: "119240", Key: `[119240,"A-01"]`, Episode: "1780272600000000", Status: notice.Firing, Priority: 3, Modal: "popup",
		Title: "Bin A-01 is at -3", Body: "S1 in A-01 went to -3 in wave 77. Replenish it.",
		Texts:  map[string]notice.Text{"zh": {Title: "货位 A-01 库存为 -3", Body: "请补货。"}},
		Data:   []notice.Field{{Name: "bin", Value: "A-01"}, {Name: "qty", Value: "-3"}, {Name: "wave"}},
		Labels: map[string]string{"area": "replenishment"}, Count: 1, CreatedAt: created, ExpiresAt: created.Add(24 * time.Hour),
	}}
}

func push(t *testing.T, c *mail.Channel, d delivery.Delivery) {
	t.Helper()
	if err := c.Push(t.Context(), []delivery.Delivery{d}); err != nil {
		t.Fatal(err)
	}
}

// refused is the text of the refusal that the push ends with.
func refused(t *testing.T, c *mail.Channel, d delivery.Delivery) string {
	t.Helper()
	err := c.Push(t.Context(), []delivery.Delivery{d})
	r, ok := errors.AsType[*sinks.RefusedError](err)
	if !ok || len(r.Seqs) != 1 || r.Seqs[0] != d.Seq {
		t.Fatalf("not refused: %v", err)
	}
	return err.Error()
}

// transient is the text of the error of a push that may succeed later.
func transient(t *testing.T, c *mail.Channel, d delivery.Delivery) string {
	t.Helper()
	err := c.Push(t.Context(), []delivery.Delivery{d})
	if _, refused := errors.AsType[*sinks.RefusedError](err); err == nil || refused {
		t.Fatalf("not transient: %v", err)
	}
	return err.Error()
}

func parse(t testing.TB, m testenv.Mail) *netmail.Message {
	t.Helper()
	msg, err := netmail.ReadMessage(strings.NewReader(m.Data))
	if err != nil {
		t.Fatalf("%v in %s", err, m.Data)
	}
	return msg
}
