package webhook

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tallyman/internal/delivery"
	"tallyman/sinks"
	"tallyman/sinks/render"
	"tallyman/sinks/request"
)

// ownCall is a call in the form that a site wrote for it, instead of the JSON of the notice.
type ownCall struct {
	*request.Call

	rules    *request.Answer
	secrets  []string // the secrets of this call alone, such as its token
	stranger bool     // true for the server that gives tokens: it must not see the sink's headers, which may be secret
}

// header returns the headers of the call. They replace the common headers of the sink.
func (c *ownCall) header(common http.Header) http.Header {
	out := maps.Clone(common)
	if c.stranger {
		out = http.Header{"User-Agent": common["User-Agent"]}
	}
	if len(c.Body) == 0 {
		out.Del("Content-Type")
	}
	maps.Copy(out, c.Header)
	return out
}

// pushRequest makes the call of one delivery. If the server refuses the token, pushRequest fetches a new token and
// calls once more.
func (w *Webhook) pushRequest(ctx context.Context, d *delivery.Delivery, to []delivery.Subscriber) error {
	token, err := w.tokens.get(ctx, "")
	if err != nil {
		return err
	}
	a, err := w.callOwn(ctx, d, to, token)
	if err == nil && w.tokens != nil && a.refusesToken() {
		if token, err = w.tokens.get(ctx, token); err != nil {
			return err
		}
		a, err = w.callOwn(ctx, d, to, token)
	}
	if err != nil {
		return err
	}
	return a.verdict([]delivery.Delivery{*d})
}

func (w *Webhook) callOwn(ctx context.Context, d *delivery.Delivery, to []delivery.Subscriber, token string) (answer, error) {
	own, err := w.ownCall(d, to, token)
	if err != nil {
		return answer{}, sinks.Refuse(d, fmt.Errorf("webhook: %w", err))
	}
	return w.call(ctx, message{id: w.id(d), body: own.Body, to: [][]delivery.Subscriber{to}, own: own})
}

// ownCall makes the call of a delivery. Every error it returns is about the notice or its recipients.
func (w *Webhook) ownCall(d *delivery.Delivery, to []delivery.Subscriber, token string) (*ownCall, error) {
	v := &request.View{Recipients: to, Token: token, Values: w.o.Values}
	if w.o.Each && len(to) == 1 {
		v.View = render.NewView(d.Notice, to[0].Language, to[0])
	} else {
		v.View = render.NewView(d.Notice, "", delivery.Subscriber{})
	}
	if w.o.Address != "" {
		for i := range to {
			if address := to[i].Address(w.o.Address); address != "" {
				v.Addresses = append(v.Addresses, address)
			}
		}
		if len(v.Addresses) == 0 {
			return nil, fmt.Errorf("%s: the address book has no %s", named(d.Recipients), w.o.Address)
		}
	}
	call, err := w.o.Request.Make(w.url, v)
	if err != nil {
		return nil, err
	}
	return &ownCall{Call: call, rules: &w.o.Answer, secrets: []string{token}}, nil
}

// mostNamed is the number of recipients that an error names.
const mostNamed = 5

// named lists the recipients for an error.
func named(recipients []string) string {
	switch n := len(recipients); {
	case n == 0:
		return "the delivery has no recipients"
	case n > mostNamed:
		return fmt.Sprintf("%s and %d more", strings.Join(recipients[:mostNamed], ", "), n-mostNamed)
	default:
		return strings.Join(recipients, ", ")
	}
}

// tokens fetches and keeps the access tokens of a webhook.
type tokens struct {
	w      *Webhook
	url    *url.URL
	signer *request.Signer // nil if the site wants no assertion
	kept   *request.Tokens
}

func newTokens(w *Webhook) (*tokens, error) {
	t := &tokens{w: w}
	var err error
	if t.url, err = w.o.target(w.o.Token.URL.Reveal()); err != nil {
		return nil, fmt.Errorf("the token: %w", err)
	}
	if a := w.o.Token.Assertion; a != nil {
		t.signer, err = request.NewSigner(a, w.o.Values, func(err error) {
			w.o.Logger.Warn("The key of a webhook's assertions cannot be read. The previous key stays in use.", "error", err)
		})
		if err != nil {
			return nil, fmt.Errorf("webhook: token.assertion: %w", err)
		}
	}
	t.kept = request.NewTokens(t.fetch, w.o.Now)
	return t, nil
}

// get returns a token other than the refused one. get returns "" if calls need no token.
func (t *tokens) get(ctx context.Context, refused string) (string, error) {
	if t == nil {
		return "", nil
	}
	return t.kept.Get(ctx, refused)
}

// fetch asks for a token. Its errors are never about a notice, so a failure here refuses no delivery.
func (t *tokens) fetch(ctx context.Context) (token string, life time.Duration, err error) {
	v := &request.TokenView{Values: t.w.o.Values}
	if t.signer != nil {
		if v.Assertion, err = t.signer.Sign(t.w.o.Now()); err != nil {
			return "", 0, fmt.Errorf("webhook: the token's assertion: %w", err)
		}
	}
	call, err := t.w.o.Token.Make(t.url, v)
	if err != nil {
		return "", 0, fmt.Errorf("webhook: the token's call: %w", err)
	}
	own := &ownCall{Call: call, rules: &request.Answer{Success: t.w.o.Token.Answer}, secrets: []string{v.Assertion}, stranger: true}
	a, err := t.w.call(ctx, message{body: call.Body, own: own})
	switch {
	case err != nil:
		return "", 0, fmt.Errorf("no token: %w", err)
	case a.err != nil && a.later > 0:
		return "", 0, &sinks.LaterError{After: a.later, Err: fmt.Errorf("no token: %w", a.err)}
	case a.err != nil:
		return "", 0, fmt.Errorf("no token: %w", a.err)
	}
	if token, life, err = t.w.o.Token.Read(a.text); err != nil {
		return "", 0, fmt.Errorf("no token: %s: %w", t.url.Host, err)
	}
	return token, life, nil
}
