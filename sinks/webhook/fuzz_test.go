package webhook_test

import (
	"net/http"
	"testing"
	"time"

	"tallyman/sinks/webhook"
)

// FuzzRetryAfter proves that whatever a server writes, a channel is left alone for an hour at most.
func FuzzRetryAfter(f *testing.F) {
	f.Add("7", "")
	f.Add("99999999999999999999", "x")
	f.Add("Mon, 01 Jun 2026 12:00:30 GMT", "Mon, 01 Jun 2026 12:00:00 GMT")
	f.Add("Monday, 01-Jan-01 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT")
	f.Fuzz(func(t *testing.T, after, date string) {
		h := http.Header{"Retry-After": {after}, "Date": {date}}
		if d := webhook.RetryAfter(h, time.Unix(1780272600, 0)); d < 0 || d > time.Hour {
			t.Fatalf("%q by %q: %s", after, date, d)
		}
	})
}
