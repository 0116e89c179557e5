package mail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	netmail "net/mail"
	"net/textproto"
	"slices"
	"strings"
	"sync"

	"tallyman/internal/delivery"
	"tallyman/sinks"
	"tallyman/sinks/render"
	"tallyman/sinks/scrub"
)

// Channel sends mails. Channel implements sinks.Pusher.
type Channel struct {
	book      delivery.Addresses
	log       *slog.Logger
	from      netmail.Address
	templates *templates
	pool      *pool
	accepted  *acceptances
	scrubber  *scrub.Scrubber
}

// New makes a channel from the options. New does not connect to the server yet.
func New(o Options) (*Channel, error) {
	o.setDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	from := o.From
	from.Name = render.OneLine(from.Name)
	t, err := loadTemplates(o.Subject, o.Text, o.HTML)
	if err != nil {
		return nil, err
	}
	d, err := newDialer(&o)
	if err != nil {
		return nil, err
	}
	return &Channel{
		book: o.Book, log: o.Logger, from: from, templates: t, pool: newPool(d.dial), accepted: newAcceptances(),
		scrubber: scrub.New(o.Password, "\x00"+o.Username+"\x00"+o.Password), // the second secret is the text of AUTH PLAIN
	}, nil
}

// Close ends the idle connections.
func (c *Channel) Close() { c.pool.close() }

// Push sends the deliveries one by one. A mail channel is not configured for batches.
func (c *Channel) Push(ctx context.Context, batch []delivery.Delivery) error {
	for i := range batch {
		if err := c.push(ctx, &batch[i]); err != nil {
			return err
		}
	}
	return nil
}

// push sends one notice to its one subscriber.
func (c *Channel) push(ctx context.Context, d *delivery.Delivery) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	to, err := c.addressee(ctx, d)
	if err != nil {
		return err
	}
	list, bad := addresses(to.Mail)
	id := messageID(d.Notice.ID, to.ID, c.from.Address)
	list = c.accepted.without(id, list)
	if len(list) == 0 {
		return c.nobody(d, id, bad)
	}
	msg, err := c.compose(d.Notice, to, list, id)
	if err != nil {
		return sinks.Refuse(d, err)
	}
	answer, err := c.pool.send(ctx, c.from.Address, list, msg)
	noteStatus(ctx, answer, err)
	if err != nil {
		return c.judge(d, err)
	}
	return c.settle(d, id, answer, bad)
}

// noteStatus records one reply code of the server. If a reply ended the call, its code counts. Else the code for the
// first address that was put off counts. Else, if no address was accepted, the code for the first refused address
// counts. Else it is 250.
func noteStatus(ctx context.Context, a *mailAnswer, err error) {
	switch {
	case err != nil:
	case len(a.later) > 0:
		err = a.later[0].err
	case len(a.accepted) == 0:
		err = a.refused[0].err
	default:
		sinks.NoteStatus(ctx, 250) // the only code for a mail that was accepted
	}
	if r, ok := errors.AsType[*textproto.Error](err); ok {
		sinks.NoteStatus(ctx, r.Code)
	}
}

// addressee returns the subscriber of the delivery, with the entry of the address book.
func (c *Channel) addressee(ctx context.Context, d *delivery.Delivery) (delivery.Subscriber, error) {
	if len(d.Recipients) != 1 {
		return delivery.Subscriber{}, sinks.Refuse(d, fmt.Errorf("mail: the delivery has %d subscribers; a mail has exactly one", len(d.Recipients)))
	}
	id := d.Recipients[0]
	found, err := c.book.Subscribers(ctx, []string{id})
	if err != nil {
		return delivery.Subscriber{}, fmt.Errorf("mail: the address book: %w", err)
	}
	to, ok := found[id]
	if !ok || len(to.Mail) == 0 {
		return delivery.Subscriber{}, sinks.Refuse(d, fmt.Errorf("mail: %s has no mail address in the address book", id))
	}
	return to, nil
}

// nobody ends a mail that has no address left. Either all usable addresses have the mail, or none is usable.
func (c *Channel) nobody(d *delivery.Delivery, id string, bad []string) error {
	if c.accepted.forget(id) {
		return nil
	}
	return sinks.Refuse(d, fmt.Errorf("mail: no usable address: %s", strings.Join(bad, "; ")))
}

// settle turns the replies to the single addresses into the result of the delivery.
func (c *Channel) settle(d *delivery.Delivery, id string, a *mailAnswer, bad []string) error {
	if len(a.later) > 0 {
		c.accepted.add(id, a.accepted)
		return c.clean(fmt.Errorf("mail: the server put off %s", join(a.later)))
	}
	for _, r := range a.refused {
		bad = append(bad, r.String())
	}
	if before := c.accepted.forget(id); !before && len(a.accepted) == 0 {
		return sinks.Refuse(d, c.clean(fmt.Errorf("mail: no address was accepted: %s", strings.Join(bad, "; "))))
	}
	if len(bad) > 0 {
		c.log.Warn("A mail left out some addresses of a subscriber. The others have it.",
			"notice", d.Notice.ID, "subscriber", d.Recipients[0], "addresses", c.scrubber.Text(strings.Join(bad, "; "), maxError))
	}
	return nil
}

// judge separates a final refusal by the server from a failure that may pass.
func (c *Channel) judge(d *delivery.Delivery, err error) error {
	if isRefusal(err) {
		return sinks.Refuse(d, c.clean(err))
	}
	return c.clean(err)
}

// maxError is the longest error text, in bytes.
const maxError = 600

// mailAnswer has the replies of a server to the addresses of one mail.
type mailAnswer struct {
	accepted []string
	refused  []reply
	later    []reply
}

// reply is the reply of a server to one address.
type reply struct {
	address string
	err     error
}

// String returns the address and the error.
func (r reply) String() string { return fmt.Sprintf("%s: %v", r.address, r.err) }

func join(list []reply) string {
	texts := make([]string, len(list))
	for i, r := range list {
		texts[i] = r.String()
	}
	return strings.Join(texts, "; ")
}

// refusedError means that the server will never accept this mail.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

func isRefusal(err error) bool {
	_, ok := errors.AsType[*refusedError](err)
	return ok
}

// aboutUs has the 5xx replies that are about the connection and not about the mail. A person has to repair the cause,
// and after that every mail must arrive. 500 and 502 are unknown commands, 503 is a bad sequence of commands, and 521
// says that this is no mail server. The others ask for another authentication (RFC 4954).
var aboutUs = []int{500, 502, 503, 521, 530, 534, 535, 538}

// forGood tells whether the reply to an address or a mail is final, so that sending again is useless.
func forGood(err error) bool {
	r, ok := errors.AsType[*textproto.Error](err)
	return ok && r.Code >= 500 && r.Code <= 599 && !slices.Contains(aboutUs, r.Code)
}

// answered tells whether an error is a reply of the server, and not a lost connection. After 421 the server closes the
// connection, so it counts as lost.
func answered(err error) bool {
	r, ok := errors.AsType[*textproto.Error](err)
	return ok && r.Code != 421
}

// clean makes the text of an error fit for the log and the ledger. clean drops the cause, because its text is not
// scrubbed.
func (c *Channel) clean(err error) error { return errors.New(c.scrubber.Text(err.Error(), maxError)) }

// maxAccepted limits the mails in acceptances. A mail that falls out may be sent twice to an address, with the same
// Message-ID.
const maxAccepted = 4096

// acceptances remembers which addresses have accepted a mail while the server puts off others, so that the next attempt
// skips them. The memory is lost with the process: after a restart the mail goes to all addresses again, with the same
// Message-ID.
type acceptances struct {
	mu    sync.Mutex
	has   map[string]map[string]bool // Message-ID → addresses
	order []string                   // the ids, the oldest first
}

func newAcceptances() *acceptances { return &acceptances{has: map[string]map[string]bool{}} }

// add records that these addresses have accepted the mail.
func (t *acceptances) add(id string, list []string) {
	if len(list) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.has[id] == nil {
		t.has[id] = map[string]bool{}
		t.order = append(t.order, id)
	}
	for _, a := range list {
		t.has[id][a] = true
	}
	for len(t.order) > maxAccepted {
		delete(t.has, t.order[0])
		t.order = t.order[1:]
	}
}

// forget drops the record of a mail. forget tells whether at least one address had accepted the mail.
func (t *acceptances) forget(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.has[id] == nil {
		return false
	}
	delete(t.has, id)
	t.order = slices.DeleteFunc(t.order, func(s string) bool { return s == id })
	return true
}

// without returns the addresses that do not have the mail yet.
func (t *acceptances) without(id string, list []*netmail.Address) []*netmail.Address {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []*netmail.Address
	for _, a := range list {
		if !t.has[id][a.Address] {
			out = append(out, a)
		}
	}
	return out
}
