package chat

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
	"tallyman/sinks"
	"tallyman/sinks/book"
	"tallyman/sinks/guard"
	"tallyman/sinks/render"
	"tallyman/sinks/scrub"
)

// the built-in template

//go:embed text.txt
var textTemplate string

// Channel posts to one chat. It implements sinks.Pusher.
type Channel struct {
	service      service
	kind         string
	title        bool
	own, builtIn *render.Template // own is nil without one
	transport    http.RoundTripper
	version      string
	secrets      []string
	scrubber     *scrub.Scrubber // of the secrets

	url, host        string     // with the placeholder, and whom it leads to
	address, mention string     // names of addresses; "" = none
	each             bool       // a delivery is for one recipient
	book             *book.Book // nil where nothing of the address book is needed
	log              *slog.Logger
	now              func() time.Time
}

// New makes the channel of the options. It speaks to no server yet. Close it.
func New(o Options) (*Channel, error) { return newChannel(o, newTransport(o.AllowPrivate)) }

func newChannel(o Options, transport http.RoundTripper) (*Channel, error) {
	if err := checkHost(o); err != nil {
		return nil, err
	}
	s, u, err := open(fill(o.URL, samples[0]))
	if err != nil {
		return nil, err
	}
	c := &Channel{
		service: s, kind: u.Scheme, title: o.Title, transport: transport, version: o.Version, log: o.Logger, now: o.Now,
		url: o.URL, address: o.Address, mention: o.Mention, each: o.Each,
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.now == nil {
		c.now = time.Now
	}
	if o.Book != nil && (c.address != "" || c.mention != "" || c.each) {
		c.book = book.New(o.Book, c.now)
	}
	if m, ok := s.(mentioner); c.mention != "" && (!ok || !m.mentions(c.mention == delivery.AddressPhone)) {
		return nil, fmt.Errorf("chat: %s cannot mention people by %s; docs/channels.md has who can", u.Scheme, c.mention)
	}
	if c.version == "" {
		c.version = "(devel)"
	}
	if c.builtIn, err = render.Parse(render.Text, "text", textTemplate); err != nil {
		return nil, fmt.Errorf("chat: the built-in template: %w", err)
	}
	if o.Text != "" {
		if c.own, err = render.Load(render.Text, o.Text); err != nil {
			return nil, fmt.Errorf("chat: the text template: %w", err)
		}
	}
	return c, c.try(u, o.AllowPrivate)
}

// try makes the call of a sample, to learn the secrets that calls have and whether its host is one to go to.
func (c *Channel) try(u *url.URL, allowPrivate bool) error {
	p, err := c.service.post(&message{id: "n_sample", title: "title", text: "text", priority: 3}, c.now())
	if err != nil {
		return fmt.Errorf("chat: %s: %w", c.kind, err)
	}
	to, err := url.Parse(p.url)
	if err != nil || to.Hostname() == "" {
		return fmt.Errorf("chat: %s: the url leads to no host", c.kind)
	}
	if a, err := netip.ParseAddr(to.Hostname()); err == nil && !allowPrivate {
		if err := guard.Check(a); err != nil {
			return fmt.Errorf("chat: %w; allow_private: true lets it", err)
		}
	}
	c.host = to.Hostname()
	c.secrets = secretsOf(u, to, p)
	c.scrubber = scrub.New(c.secrets...)
	return nil
}

// Close ends the connections that wait for more to post.
func (c *Channel) Close() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Push posts the deliveries one by one; a chat is not configured for batches.
func (c *Channel) Push(ctx context.Context, batch []delivery.Delivery) error {
	for i := range batch {
		if err := ctx.Err(); err != nil {
			return err
		}
		own, recipients, err := c.of(ctx, &batch[i])
		if err != nil {
			return err
		}
		if err := own.push(ctx, &batch[i], recipients); err != nil {
			return err
		}
	}
	return nil
}

func (c *Channel) push(ctx context.Context, d *delivery.Delivery, recipients []delivery.Subscriber) error {
	var only delivery.Subscriber
	if c.each && len(recipients) == 1 {
		only = recipients[0]
	}
	m, err := c.message(d.Notice, only)
	if err != nil {
		return sinks.Refuse(d, err)
	}
	if c.mention != "" {
		m.mention = c.mentionOf(d.Notice.ID, recipients)
	}
	p, err := c.service.post(m, c.now())
	if err != nil {
		return sinks.Refuse(d, fmt.Errorf("chat: %s: %w", c.kind, err))
	}
	return c.judge(d, c.call(ctx, p))
}

// message makes what is to be shown.
func (c *Channel) message(n *notice.Notice, to delivery.Subscriber) (*message, error) {
	v := render.NewView(n, to.Language, to)
	text, err := c.text(v)
	if err != nil {
		return nil, err
	}
	m := &message{id: strings.TrimSuffix(v.ID+"/"+to.ID, "/"), text: text, priority: min(max(v.Priority, 1), 5), resolved: v.Status == string(notice.Resolved)}
	if c.title {
		m.title = render.Shorten(v.Title, maxTitle)
	}
	if m.text == "" && m.title == "" { // no service shows nothing
		m.text = v.Type
	}
	return m, nil
}

// maxTitle is the longest title, in characters: what the narrowest service shows.
const maxTitle = 200

// text executes the template. One of the operator that fails on this notice must not keep it from those who wait for it: the
// built-in one stands in, and the log says so.
func (c *Channel) text(v *render.View) (string, error) {
	if c.own != nil {
		text, err := c.own.Execute(v)
		if err == nil {
			return trim(text), nil
		}
		c.log.Error("A chat template failed. The built-in template was used instead.", "notice", v.ID, "error", err)
	}
	text, err := c.builtIn.Execute(v)
	if err != nil {
		return "", fmt.Errorf("chat: the text: %w", err)
	}
	return trim(text), nil
}
