package mail

import (
	"context"
	"fmt"
	"log/slog"
	netmail "net/mail"
	"strings"

	"tallyman/internal/delivery"
	"tallyman/sinks"
	"tallyman/sinks/render"
	"tallyman/sinks/scrub"
)

// Channel sends mails. It implements sinks.Pusher.
type Channel struct {
	book      sinks.Book
	log       *slog.Logger
	from      netmail.Address
	templates *templates
	pool      *pool
	told      *told
	scrubber  *scrub.Scrubber
}

// New makes the channel of the options. It speaks to no server yet.
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
		book: o.Book, log: o.Logger, from: from, templates: t, pool: newPool(d.dial), told: newTold(),
		scrubber: scrub.New(o.Password, "\x00"+o.Username+"\x00"+o.Password), // as AUTH PLAIN has it
	}, nil
}

// Close ends the connections that wait for more to send.
func (c *Channel) Close() { c.pool.close() }

// Push mails the deliveries one by one; a channel of mails is not configured for batches.
func (c *Channel) Push(ctx context.Context, batch []delivery.Delivery) error {
	for i := range batch {
		if err := c.push(ctx, &batch[i]); err != nil {
			return err
		}
	}
	return nil
}

// push mails one notice to the one subscriber that it is for.
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
	list = c.told.without(id, list)
	if len(list) == 0 {
		return c.nobody(d, id, bad)
	}
	msg, err := c.compose(d.Notice, to, list, id)
	if err != nil {
		return refuse(d, err)
	}
	answer, err := c.pool.send(ctx, c.from.Address, list, msg)
	if err != nil {
		return c.judge(d, err)
	}
	return c.settle(d, id, answer, bad)
}

// addressee looks the subscriber up.
func (c *Channel) addressee(ctx context.Context, d *delivery.Delivery) (delivery.Subscriber, error) {
	if len(d.Recipients) != 1 {
		return delivery.Subscriber{}, refuse(d, fmt.Errorf("mail: %d subscribers, and a mail is for one", len(d.Recipients)))
	}
	id := d.Recipients[0]
	found, err := c.book.Subscribers(ctx, []string{id})
	if err != nil {
		return delivery.Subscriber{}, fmt.Errorf("mail: the address book: %w", err)
	}
	to, ok := found[id]
	if !ok || len(to.Mail) == 0 {
		return delivery.Subscriber{}, refuse(d, fmt.Errorf("mail: %s has no mail address in the address book", id))
	}
	return to, nil
}

// nobody ends a mail of which no address is left: all have it, or none is one.
func (c *Channel) nobody(d *delivery.Delivery, id string, bad []string) error {
	if c.told.forget(id) {
		return nil
	}
	return refuse(d, fmt.Errorf("mail: no usable address: %s", strings.Join(bad, "; ")))
}

// settle judges what became of each address.
func (c *Channel) settle(d *delivery.Delivery, id string, a *answer, bad []string) error {
	if len(a.later) > 0 {
		c.told.add(id, a.accepted)
		return c.clean(fmt.Errorf("mail: put off for %s", join(a.later)))
	}
	for _, r := range a.refused {
		bad = append(bad, r.String())
	}
	if before := c.told.forget(id); !before && len(a.accepted) == 0 {
		return refuse(d, c.clean(fmt.Errorf("mail: no address was taken: %s", strings.Join(bad, "; "))))
	}
	if len(bad) > 0 {
		c.log.Warn("a mail left addresses out", "notice", d.Notice.ID, "subscriber", d.Recipients[0], "addresses", c.scrubber.Text(strings.Join(bad, "; "), maxError))
	}
	return nil
}

// judge tells what the server will never take from what it did not take now.
func (c *Channel) judge(d *delivery.Delivery, err error) error {
	if isRefusal(err) {
		return refuse(d, c.clean(err))
	}
	return c.clean(err)
}

func refuse(d *delivery.Delivery, err error) error {
	return &sinks.RefusedError{Seqs: []int64{d.Seq}, Err: err}
}
