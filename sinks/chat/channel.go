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

// The built-in template.

//go:embed text.txt
var textTemplate string

// Channel posts to one chat. Channel implements sinks.Pusher.
type Channel struct {
	service      service
	kind         string
	title        bool
	own, builtIn *render.Template // own is nil if the site has no template
	transport    http.RoundTripper
	version      string
	secrets      []string
	scrubber     *scrub.Scrubber // hides the secrets

	url, host        string     // the URL with its placeholder, and the host that it leads to
	address, mention string     // which addresses of the address book are used; "" = none
	each             bool       // true = each delivery is for one recipient
	book             *book.Book // nil = the address book is not needed
	log              *slog.Logger
	now              func() time.Time
}

// New makes a channel from the options. New does not connect to a server yet. The caller has to Close it.
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
		return nil, fmt.Errorf("chat: %s cannot mention people by %s; docs/how-to/channels.md lists the services that can", u.Scheme, c.mention)
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

// try makes a sample call, without sending it. The sample shows which secrets calls have, and whether their host is
// allowed.
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
			return fmt.Errorf("chat: %w; allow_private: true allows it", err)
		}
	}
	c.host = to.Hostname()
	c.secrets = secretsOf(u, to, p)
	c.scrubber = scrub.New(c.secrets...)
	return nil
}

// Close ends the idle connections.
func (c *Channel) Close() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Push posts the deliveries one by one. A chat is not configured for batches.
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
	p, err := c.post(d.Notice, recipients)
	if err != nil {
		return sinks.Refuse(d, err)
	}
	return c.judge(d, c.call(ctx, p))
}

// post makes the call that shows the notice.
func (c *Channel) post(n *notice.Notice, recipients []delivery.Subscriber) (*post, error) {
	var only delivery.Subscriber
	if c.each && len(recipients) == 1 {
		only = recipients[0]
	}
	m, err := c.message(n, only)
	if err != nil {
		return nil, err
	}
	if c.mention != "" {
		m.mention = c.mentionOf(n.ID, recipients)
	}
	p, err := c.service.post(m, c.now())
	if err != nil {
		return nil, fmt.Errorf("chat: %s: %w", c.kind, err)
	}
	return p, nil
}

// message makes the message that the chat shows.
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
	if m.text == "" && m.title == "" { // no service takes an empty message
		m.text = v.Type
	}
	return m, nil
}

// maxTitle is the longest title, in characters. The service with the least room sets it.
const maxTitle = 200

// text runs the template. If a template of the site fails on this notice, the built-in template is used instead, and
// the log has an error. The recipients must get the notice all the same.
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
