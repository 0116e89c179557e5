package webhook

import (
	"net/http"
	"time"
)

// Sign is what a call is signed with.
func Sign(secrets []string, id string, at time.Time, body []byte) (string, error) {
	all, err := keys(secrets)
	return signature(all, id, at, body), err
}

// RetryAfter is what an answer with the header asks for.
func RetryAfter(h http.Header, now time.Time) time.Duration { return retryAfter(h, now) }

// Judge replaces what says which addresses a connection may be made to.
func (w *Webhook) Judge(allow control) { w.transport.DialContext = dialer(&w.o, allow).DialContext }
