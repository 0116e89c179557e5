package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/trace"
	"tallyman/sinks"
	"tallyman/sinks/book"
	"tallyman/sinks/scrub"
)

// Webhook is a push channel to an HTTP server. See the comment of the package.
type Webhook struct {
	o         Options
	url       *url.URL
	header    http.Header // the common headers of all calls
	keys      []*key
	transport *http.Transport
	secrets   []string
	scrub     *scrub.Scrubber // hides the secrets of the sink
	book      *book.Book      // nil if the site has no address book
	tokens    *tokens         // nil if calls need no token
}

// New makes a Webhook. New reads the certificates, and connects to nothing yet. The caller has to Close it.
func New(o Options) (*Webhook, error) {
	o = o.withDefaults()
	u, err := o.target(o.URL)
	if err != nil {
		return nil, err
	}
	w := &Webhook{o: o, url: u, header: o.header(u), secrets: o.secrets(u)}
	w.scrub = scrub.New(w.secrets...)
	if w.keys, err = keys(o.Secrets); err != nil {
		return nil, err
	}
	certs, err := newCerts(o.TLS, o.Logger)
	if err != nil {
		return nil, err
	}
	w.transport = transport(&o, u.Hostname(), certs)
	if o.Book != nil {
		w.book = book.New(o.Book, o.Now)
	}
	if o.Token != nil {
		w.tokens, err = newTokens(w)
	}
	return w, err
}

// Close ends the idle connections.
func (w *Webhook) Close() { w.transport.CloseIdleConnections() }

// Push implements sinks.Pusher.
func (w *Webhook) Push(ctx context.Context, batch []delivery.Delivery) error {
	if len(batch) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	to, err := w.recipients(ctx, batch)
	if err != nil {
		return err
	}
	if w.o.Request != nil {
		for i := range batch {
			if err := w.pushRequest(ctx, &batch[i], to[i]); err != nil {
				return err
			}
		}
		return nil
	}
	m, err := w.compose(batch, to)
	if err != nil {
		return err
	}
	a, err := w.call(ctx, m)
	if err != nil {
		return err
	}
	return a.verdict(batch)
}

// recipients looks up the recipients of each delivery. A list is nil if the delivery names nobody, or if the site has
// no address book.
func (w *Webhook) recipients(ctx context.Context, batch []delivery.Delivery) ([][]delivery.Subscriber, error) {
	to := make([][]delivery.Subscriber, len(batch))
	if w.book == nil {
		return to, nil
	}
	for i := range batch {
		var err error
		if to[i], err = w.book.Of(ctx, batch[i].Recipients); err != nil {
			return nil, fmt.Errorf("webhook: %w", err)
		}
	}
	return to, nil
}

// The limits for reading the body of an answer. In a usual call the status decides, so a body without an end, or a slow
// one, must not hold up a delivery. A call with a form of its own waits for the body, and only readBytes limits it.
const (
	readBytes = 64 << 10
	readFor   = 2 * time.Second
)

// call makes one request and reads the part of the answer that it needs.
func (w *Webhook) call(ctx context.Context, m message) (answer, error) {
	progress, ctx := watch(ctx)
	req, err := w.request(ctx, m)
	if err != nil {
		return answer{}, err
	}
	resp, err := w.transport.RoundTrip(req)
	if err != nil {
		return answer{}, w.broken(ctx, progress, &m, err)
	}
	defer resp.Body.Close()
	sinks.NoteStatus(ctx, resp.StatusCode)
	if resp.Body == http.NoBody { // most answers have no body, and need no timer
		return w.understand(resp, &m, nil), nil
	}
	if m.own == nil { // an own call waits for the body, since its code decides
		slow := time.AfterFunc(readFor, func() { _ = resp.Body.Close() })
		defer slow.Stop()
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, readBytes)) // an incomplete body is enough
	return w.understand(resp, &m, text), nil
}

func (w *Webhook) request(ctx context.Context, m message) (*http.Request, error) {
	method, to, header := http.MethodPost, w.url, w.header
	if m.own != nil {
		method, to, header = m.own.Method, m.own.URL, m.own.header(w.header)
	}
	req, err := http.NewRequestWithContext(ctx, method, "", bytes.NewReader(m.body))
	if err != nil {
		return nil, err
	}
	at := w.o.Now()
	req.URL, req.Host = to, to.Host
	req.Header = make(http.Header, len(header)+6)
	maps.Copy(req.Header, header) // safe, since nobody changes the value of a header
	trace.Inject(ctx, req.Header)
	if m.id == "" { // a call for a token has no id, since it may be repeated
		return req, nil
	}
	id := []string{m.id}
	req.Header["Idempotency-Key"], req.Header["Webhook-Id"] = id, id
	req.Header["Webhook-Timestamp"] = []string{strconv.FormatInt(at.Unix(), 10)}
	if len(w.keys) > 0 {
		req.Header["Webhook-Signature"] = []string{signature(w.keys, m.id, at, m.body)}
	}
	return req, nil
}

// message is the content of one call. Equal deliveries give equal messages, as long as the address book does not
// change.
type message struct {
	id   string // the value of Webhook-Id and of Idempotency-Key
	body []byte
	to   [][]delivery.Subscriber // no error shows the addresses of these recipients

	own *ownCall // nil = the usual call
}

// compose makes the message. compose refuses notices that cannot be encoded as JSON.
func (w *Webhook) compose(batch []delivery.Delivery, to [][]delivery.Subscriber) (message, error) {
	var refused sinks.RefusedError
	list := make([][]byte, len(batch))
	for i, d := range batch {
		var err error
		if list[i], err = noticeJSON(&d, to[i]); err != nil {
			refused.Seqs, refused.Err = append(refused.Seqs, d.Seq), err
		}
	}
	switch {
	case refused.Err != nil:
		return message{}, &refused
	case !w.o.Batch && len(batch) == 1:
		return message{id: w.id(&batch[0]), body: list[0], to: to}, nil
	default:
		body := append([]byte(`{"notices":[`), bytes.Join(list, []byte(","))...)
		return message{id: w.batchID(batch), body: append(body, "]}"...), to: to}, nil
	}
}

// id names a delivery by its notice. If each recipient has a call of their own, the recipient is part of the id.
func (w *Webhook) id(d *delivery.Delivery) string {
	if !w.o.Each {
		return d.Notice.ID
	}
	return "u_" + hashID(d.Notice.ID, strings.Join(d.Recipients, " "))
}

// batchID hashes the ids of the deliveries in their order. A batch with the same body therefore has the same id.
func (w *Webhook) batchID(batch []delivery.Delivery) string {
	ids := make([]string, len(batch))
	for i := range batch {
		ids[i] = w.id(&batch[i])
	}
	return "b_" + hashID(ids...)
}

func hashID(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		_, _ = h.Write([]byte(part + "\n"))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// secretPrefix marks a secret that is written in base64.
const secretPrefix = "whsec_"

// key makes signatures with one secret.
type key struct{ macs sync.Pool } // has hash.Hash values for reuse, since making one costs more than using it

func newKey(secret []byte) *key {
	return &key{macs: sync.Pool{New: func() any { return hmac.New(sha256.New, secret) }}}
}

// keys parses the secrets.
func keys(secrets []string) ([]*key, error) {
	var all []*key
	for _, secret := range secrets {
		text := []byte(secret)
		if coded, ok := strings.CutPrefix(secret, secretPrefix); ok {
			var err error
			if text, err = base64.StdEncoding.DecodeString(coded); err != nil {
				return nil, errors.New("webhook: a secret begins with whsec_, but the rest is not base64")
			}
		}
		if len(text) == 0 {
			return nil, errors.New("webhook: a secret is empty")
		}
		all = append(all, newKey(text))
	}
	return all, nil
}

// signature returns the value of webhook-signature. The value has a signature for each key, so that a receiver can check
// the call with any of the keys.
func signature(keys []*key, id string, at time.Time, body []byte) string {
	const size = len("v1,") + 44
	head := append(strconv.AppendInt(append([]byte(id), '.'), at.Unix(), 10), '.')
	out := make([]byte, 0, len(keys)*(size+1))
	for i, k := range keys {
		if i > 0 {
			out = append(out, ' ')
		}
		out = k.sign(append(out, "v1,"...), head, body)
	}
	return string(out)
}

// sign appends the signature of head and body in base64.
func (k *key) sign(out, head, body []byte) []byte {
	mac, _ := k.macs.Get().(hash.Hash)
	defer k.macs.Put(mac)
	mac.Reset()
	_, _ = mac.Write(head)
	_, _ = mac.Write(body)
	var sum [sha256.Size]byte
	return base64.StdEncoding.AppendEncode(out, mac.Sum(sum[:0]))
}
