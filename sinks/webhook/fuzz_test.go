package webhook_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
	"tallyman/internal/text"
	"tallyman/internal/text/texttest"
	"tallyman/sinks/webhook"
)

// FuzzRetryAfter tests that no answer can ask for a pause of more than an hour.
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

// FuzzBody tests that a body, which is written by hand, has the same bytes as from encoding/json, with escapes for
// characters that no text may have.
func FuzzBody(f *testing.F) {
	f.Add("n_1", "Bin A-01 is at -3", "<b>&\"\\\r\n\t\b\f\x00\x7f", "bin", "A-01", "1780272600000000", int64(-3), int64(1780272600000000), uint8(1))
	f.Add("", "\xff\xc3(", "\u2028\u2029\ufffd补🦀", "a\"b", "", `["2026-06-01T00:10:00Z", 42]`, int64(1)<<62, int64(-1), uint8(2))
	f.Add("n", "", "{", "{", "}", "017", int64(0), int64(253402300800000000), uint8(3)) // the year 10000
	f.Add("n", texttest.All(), texttest.All(), texttest.All(), texttest.All(), texttest.All(), int64(1), int64(1), uint8(3))
	f.Fuzz(func(t *testing.T, id, title, body, name, value, episode string, number, created int64, shape uint8) {
		n := &notice.Notice{
			ID: id, Type: name, TypeID: number, Warehouse: value, Rule: title, Scope: body, Key: value, Episode: episode, Status: notice.Status(name),
			Priority: int(shape), Modal: value, Title: title, Body: body, Labels: map[string]string{name: value, value: body}, Count: int(shape),
			Data:      []notice.Field{{Name: name, Value: value}, {Name: title, Value: number}, {Name: body, Value: number > 0}, {Name: value}},
			CreatedAt: time.UnixMicro(created), ExpiresAt: time.UnixMicro(created).Add(time.Duration(shape) * time.Second),
		}
		together := shape%2 == 0
		batch := make([]delivery.Delivery, 1)
		if together {
			batch = make([]delivery.Delivery, 1+shape%3)
		}
		forms := make([]notice.Form, len(batch))
		for i := range batch {
			batch[i], forms[i] = delivery.Delivery{Seq: int64(i), Notice: n}, n.Form()
		}
		var want any = map[string]any{"notices": forms}
		if !together {
			want = forms[0]
		}
		var encoded bytes.Buffer
		e := json.NewEncoder(&encoded)
		e.SetEscapeHTML(false)
		wantErr := e.Encode(want)
		got, err := webhook.Body(batch, together)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("error %v, want %v", err, wantErr)
		}
		if err == nil && !bytes.Equal(text.EscapeJSON(bytes.TrimSuffix(encoded.Bytes(), []byte("\n"))), got) {
			t.Fatalf("\nwant %s\ngot  %s", encoded.Bytes(), got)
		}
		if err == nil {
			texttest.Visible(t, "a webhook", string(got))
		}
	})
}
