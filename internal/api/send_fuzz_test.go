package api_test

import (
	"encoding/xml"
	"net/http"
	"strings"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules/row"
)

// FuzzSend sends any body. The body is refused with a problem, or its notices are valid in every form.
func FuzzSend(f *testing.F) {
	for _, body := range []string{
		one(`{"type":"FULL","warehouse":"1","data":{"key":"k","qty":-3.10,"count":7,"done":true,"at":"2026-06-01T08:00:00+08:00","text":"ä"}}`),
		one(`{"type":"REP_NOTICE","warehouse":"119240","title":" a\nb ","body":"c","texts":{"zh":{"title":"补货"}},"labels":{"area":"x"},"expires":"1h30m","recipients":["user:1"]}`),
		one(`{"type":"REP_NOTICE","warehouse":"1","data":{"bin":"A","qty":"1e-7"},"deliver":[{"sink":"gateway","strategy":"delayed","at":"2026-06-01T08:00:00Z","retry":2,"unless":"acked"},{"sink":"letters","strategy":"timed","within":"30m"}]}`),
		one(`{"type":"FULL","warehouse":"1","data":{"key":"","qty":"NaN","count":1e3,"at":"0000-01-01T00:00:00Z"}}`),
		`{"notices":[]}`, `{"notices":null}`, `[]`, `null`, ``, `{`, one(`{}`), one(`null`),
	} {
		f.Add(body)
	}
	b := newBundle()
	typed(b)
	f.Fuzz(func(t *testing.T, body string) {
		b.sends.clear()
		got := b.handleBody(t, http.MethodPost, sendPath, body)
		switch got.status {
		case http.StatusCreated:
		case http.StatusBadRequest, http.StatusUnprocessableEntity:
			if p := got.asProblem(t); p.Code == "" || p.Detail == "" {
				t.Errorf("a problem that says nothing: %s", got.body)
			}
		default:
			t.Errorf("%d %s", got.status, got.body)
		}
		for _, n := range b.sends.all() {
			checkSent(t, &n)
		}
	})
}

// checkSent holds a notice against what every notice is.
func checkSent(t *testing.T, n *ledger.NewNotice) {
	t.Helper()
	it := n.Notice
	if it.Title == "" || strings.ContainsAny(it.Title, "\n\r") || it.Priority < 1 || it.Priority > 5 || !it.ExpiresAt.After(it.CreatedAt) || it.ID == "" {
		t.Errorf("notice %+v", it)
	}
	for _, field := range it.Data {
		if text, ok := field.Value.(string); ok && field.Name == "qty" {
			if v, err := row.ParseDecimal(text); err != nil || v.String() != text {
				t.Errorf("%s is no decimal as notices have it", text)
			}
		}
	}
	if _, err := notice.Marshal(it); err != nil {
		t.Error(err)
	}
	if text, err := xml.Marshal(it); err != nil || xml.Unmarshal(text, new(struct{})) != nil {
		t.Errorf("%v in %s", err, text)
	}
	for _, target := range n.Sinks {
		st := target.Strategy
		if target.Sink == "" || (st == nil) == (target.Sink == "gateway" || target.Sink == "letters") {
			t.Errorf("target %+v", target)
		}
		if st == nil {
			continue
		}
		first, deadline := st.First(it.CreatedAt), st.Deadline(it.CreatedAt)
		if first.Before(it.CreatedAt) || !first.Before(it.ExpiresAt) || st.Kind == delivery.Timed && deadline.Sub(it.CreatedAt) < time.Second || st.Retry < 0 || st.Retry > 100 {
			t.Errorf("strategy %+v", st)
		}
	}
}
