package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
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
	"tallyman/sinks/scrub"
)

// Webhook is a push channel; see the package.
type Webhook struct {
	o         Options
	url       *url.URL
	header    http.Header // of each call
	keys      []*key
	transport *http.Transport
	scrub     *scrub.Scrubber
}

// New makes one. It reads the certificates and connects to nothing. Close it.
func New(o Options) (*Webhook, error) {
	o = o.withDefaults()
	u, err := o.target()
	if err != nil {
		return nil, err
	}
	w := &Webhook{o: o, url: u, header: o.header(u), scrub: scrub.New(o.secrets(u)...)}
	if w.keys, err = keys(o.Secrets); err != nil {
		return nil, err
	}
	certs, err := newCerts(o.TLS, o.Logger)
	if err != nil {
		return nil, err
	}
	w.transport = transport(&o, certs)
	return w, nil
}

// Close ends the connections that wait for the next call.
func (w *Webhook) Close() { w.transport.CloseIdleConnections() }

// Push implements sinks.Pusher.
func (w *Webhook) Push(ctx context.Context, batch []delivery.Delivery) error {
	if len(batch) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	m, err := compose(batch, w.o.Batch)
	if err != nil {
		return err
	}
	a, err := w.call(ctx, m)
	if err != nil {
		return err
	}
	return a.verdict(batch)
}

// The bounds of what is read of an answer: its status decides, so neither a text without end nor one that trickles in holds up a
// delivery.
const (
	readBytes = 64 << 10
	readFor   = 2 * time.Second
)

// call makes one request and reads what it needs of the answer.
func (w *Webhook) call(ctx context.Context, m message) (answer, error) {
	progress, ctx := watch(ctx)
	req, err := w.request(ctx, m)
	if err != nil {
		return answer{}, err
	}
	resp, err := w.transport.RoundTrip(req)
	if err != nil {
		return answer{}, w.broken(ctx, progress, err)
	}
	defer resp.Body.Close()
	sinks.NoteStatus(ctx, resp.StatusCode)
	if resp.Body == http.NoBody { // as of most: no timer is needed
		return w.understand(resp, nil), nil
	}
	slow := time.AfterFunc(readFor, func() { _ = resp.Body.Close() })
	defer slow.Stop()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, readBytes)) // as much of it as came
	return w.understand(resp, text), nil
}

func (w *Webhook) request(ctx context.Context, m message) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "", bytes.NewReader(m.body))
	if err != nil {
		return nil, err
	}
	at := w.o.Now()
	req.URL, req.Host = w.url, w.url.Host
	req.Header = make(http.Header, len(w.header)+6)
	maps.Copy(req.Header, w.header) // of which nobody changes a value
	trace.Inject(ctx, req.Header)
	id := []string{m.id}
	req.Header["Idempotency-Key"], req.Header["Webhook-Id"] = id, id
	req.Header["Webhook-Timestamp"] = []string{strconv.FormatInt(at.Unix(), 10)}
	if len(w.keys) > 0 {
		req.Header["Webhook-Signature"] = []string{signature(w.keys, m.id, at, m.body)}
	}
	return req, nil
}

// message is what one call says. The same deliveries make the same one.
type message struct {
	id   string // webhook-id and Idempotency-Key
	body []byte
}

// compose makes the message. Notices that have no JSON are refused.
func compose(batch []delivery.Delivery, together bool) (message, error) {
	var refused sinks.RefusedError
	list := make([][]byte, len(batch))
	for i, d := range batch {
		var err error
		if list[i], err = d.Notice.MarshalJSON(); err != nil {
			refused.Seqs, refused.Err = append(refused.Seqs, d.Seq), err
		}
	}
	switch {
	case refused.Err != nil:
		return message{}, &refused
	case !together && len(batch) == 1:
		return message{id: batch[0].Notice.ID, body: list[0]}, nil
	default:
		body := append([]byte(`{"notices":[`), bytes.Join(list, []byte(","))...)
		return message{id: batchID(batch), body: append(body, "]}"...)}, nil
	}
}

// batchID is a hash of the notices' ids in their order: what makes the body is what makes the id.
func batchID(batch []delivery.Delivery) string {
	h := sha256.New()
	for _, d := range batch {
		_, _ = h.Write([]byte(d.Notice.ID + "\n"))
	}
	return "b_" + hex.EncodeToString(h.Sum(nil)[:16])
}

// secretPrefix marks a secret that is written in base64.
const secretPrefix = "whsec_"

// key makes signatures with one secret.
type key struct{ macs sync.Pool } // of hash.Hash, which to make anew costs more than to use

func newKey(secret []byte) *key {
	return &key{macs: sync.Pool{New: func() any { return hmac.New(sha256.New, secret) }}}
}

// keys reads the secrets.
func keys(secrets []string) ([]*key, error) {
	var all []*key
	for _, secret := range secrets {
		text := []byte(secret)
		if coded, ok := strings.CutPrefix(secret, secretPrefix); ok {
			var err error
			if text, err = base64.StdEncoding.DecodeString(coded); err != nil {
				return nil, errors.New("webhook: a secret begins with whsec_, and what follows is no base64")
			}
		}
		if len(text) == 0 {
			return nil, errors.New("webhook: a secret is empty")
		}
		all = append(all, newKey(text))
	}
	return all, nil
}

// signature is the value of webhook-signature: one for each key, so that a receiver that knows any of them can check it.
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

// sign appends the hash of both in base64.
func (k *key) sign(out, head, body []byte) []byte {
	mac, _ := k.macs.Get().(hash.Hash)
	defer k.macs.Put(mac)
	mac.Reset()
	_, _ = mac.Write(head)
	_, _ = mac.Write(body)
	var sum [sha256.Size]byte
	return base64.StdEncoding.AppendEncode(out, mac.Sum(sum[:0]))
}
