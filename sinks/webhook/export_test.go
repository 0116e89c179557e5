package webhook

import (
	"net/http"
	"time"

	"tallyman/internal/delivery"
)

// Sign is what a call is signed with.
func Sign(secrets []string, id string, at time.Time, body []byte) (string, error) {
	all, err := keys(secrets)
	return signature(all, id, at, body), err
}

// Body is what a call with the deliveries carries.
func Body(batch []delivery.Delivery, together bool) ([]byte, error) {
	m, err := (&Webhook{o: Options{Batch: together}}).compose(batch, make([][]delivery.Subscriber, len(batch)))
	return m.body, err
}

// RetryAfter is what an answer with the header asks for.
func RetryAfter(h http.Header, now time.Time) time.Duration { return retryAfter(h, now) }

// Judge replaces what says which addresses a connection may be made to.
func (w *Webhook) Judge(allow control) { w.transport.DialContext = dialer(&w.o, allow).DialContext }
