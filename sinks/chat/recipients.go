package chat

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"tallyman/internal/delivery"
	"tallyman/sinks"
	"tallyman/sinks/scrub"
)

// placeholder stands in the URL of a chat. The address of the recipient replaces it.
const placeholder = "{address}"

// fill replaces the placeholder by an address. The address is escaped, so that it stays one part of the URL.
func fill(raw, address string) string {
	return strings.ReplaceAll(raw, placeholder, strings.ReplaceAll(url.QueryEscape(address), "+", "%20"))
}

// samples are two different addresses. They make a URL parsable before there is a recipient.
var samples = []string{"4444444411111111", "5555555522222222"}

// checkHost refuses a URL in which the placeholder is part of the host: the address book must never choose the server.
func checkHost(o Options) error {
	hosts := make([]string, len(samples))
	for i, sample := range samples {
		s, _, err := open(fill(o.URL, sample))
		if err != nil {
			return err
		}
		if hosts[i], err = hostOf(s); err != nil {
			return err
		}
	}
	if hosts[0] != hosts[1] {
		return errors.New("chat: {address} is the server in the url, but the address book must not choose the server")
	}
	return nil
}

// hostOf returns the host that a service calls.
func hostOf(s service) (string, error) {
	p, err := s.post(&message{id: "n_sample", title: "title", text: "text", priority: 3}, time.Unix(0, 0))
	if err != nil {
		return "", fmt.Errorf("chat: %w", err)
	}
	to, err := url.Parse(p.url)
	if err != nil || to.Hostname() == "" {
		return "", errors.New("chat: the url leads to no host")
	}
	return to.Hostname(), nil
}

// mentioner is a service that can mention people.
type mentioner interface {
	// mentions tells whether the service can mention people: by phone if phone is true, or by their user id at the
	// service if phone is false.
	mentions(phone bool) bool
}

// mention has the people whom a message mentions.
type mention struct {
	ids    []string
	phones []string
}

// mentionForm matches the user ids of services, and phones. Other values are not put into a message, because they could
// be markup.
var mentionForm = regexp.MustCompile(`^[A-Za-z0-9_.@+-]{1,100}$`)

// A message mentions at most so many people, with ids or phones of so many characters in all. Discord takes mentions of
// 100 people in 2,000 characters. Each mention adds three characters of markup and a space. With other services,
// mentions must leave room for the text.
const (
	mostMentioned = 100
	maxMentioned  = 1_400
)

// mentionOf looks up the people whom the message mentions. mentionOf warns of recipients without a usable value, and of
// recipients for whom the message has no room.
func (c *Channel) mentionOf(notice string, recipients []delivery.Subscriber) mention {
	var m mention
	var without, beyond []string
	length := 0
	for i := range recipients {
		id := strings.ReplaceAll(recipients[i].Address(c.mention), " ", "")
		switch {
		case !mentionForm.MatchString(id):
			without = append(without, recipients[i].ID)
			continue
		case len(m.ids)+len(m.phones) == mostMentioned || length+len(id) > maxMentioned:
			beyond = append(beyond, recipients[i].ID)
			continue
		}
		length += len(id)
		if c.mention == delivery.AddressPhone {
			m.phones = append(m.phones, id)
		} else {
			m.ids = append(m.ids, id)
		}
	}
	c.warn("the address book has no usable value for them", notice, without)
	c.warn("a message has room for 100 people, fewer with long ids", notice, beyond)
	return m
}

// warn logs the subscribers whom a message does not mention. Without subscribers warn logs nothing.
func (c *Channel) warn(why, notice string, subscribers []string) {
	if len(subscribers) > 0 {
		c.log.Warn("Chat message leaves out mentions.", "reason", why, "notice", notice, "address", c.mention, "subscribers", subscribers[:min(len(subscribers), mostNamed)], "count", len(subscribers))
	}
}

// mostNamed is the number of subscribers that a log line names.
const mostNamed = 20

// all returns the ids and the phones.
func (m *mention) all() []string { return append(append([]string{}, m.ids...), m.phones...) }

// line formats each mention, and adds a line break. line returns "" if nobody is mentioned.
func (m *mention) line(form string) string {
	all := m.all()
	if len(all) == 0 {
		return ""
	}
	for i := range all {
		all[i] = fmt.Sprintf(form, all[i])
	}
	return strings.Join(all, " ") + "\n"
}

// of returns the recipients of a delivery, and the channel to their chat. That channel also hides their addresses in
// errors.
func (c *Channel) of(ctx context.Context, d *delivery.Delivery) (*Channel, []delivery.Subscriber, error) {
	if c.book == nil {
		return c, nil, nil
	}
	recipients, err := c.book.Of(ctx, d.Recipients)
	if err != nil {
		return nil, nil, fmt.Errorf("chat: %w", err)
	}
	own := *c
	var hidden []string
	for i := range recipients {
		for _, name := range []string{c.address, c.mention} {
			if name != "" {
				hidden = append(hidden, recipients[i].Address(name))
			}
		}
	}
	own.scrubber = scrub.New(append(hidden, c.secrets...)...)
	if c.address == "" {
		return &own, recipients, nil
	}
	if len(recipients) != 1 || recipients[0].Address(c.address) == "" {
		return nil, nil, sinks.Refuse(d, fmt.Errorf("chat: %s: the address book has no %s", strings.Join(d.Recipients, ", "), c.address))
	}
	if own.service, _, err = open(fill(c.url, recipients[0].Address(c.address))); err != nil {
		return nil, nil, sinks.Refuse(d, fmt.Errorf("chat: the %s of %s makes no address of a chat", c.address, recipients[0].ID))
	}
	if host, err := hostOf(own.service); err != nil || host != c.host {
		return nil, nil, sinks.Refuse(d, fmt.Errorf("chat: the %s of %s leads to another server", c.address, recipients[0].ID))
	}
	return &own, recipients, nil
}
