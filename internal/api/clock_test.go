package api_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"tallyman/internal/api/operate"
	"tallyman/internal/ledger"
)

// fakeClock is a ledger's clock that went ahead by two hours.
type fakeClock struct {
	ledger.Clock

	mu        sync.Mutex
	state     ledger.ClockState
	confirmed []string // who, and why
}

func newFakeClock() *fakeClock {
	at := time.Date(2026, 6, 1, 8, 15, 0, 0, time.UTC)
	return &fakeClock{state: ledger.ClockState{
		Term: ledger.Term{Number: 1, Began: at.Add(-time.Hour), Back: 10 * time.Minute}, Machine: at.Add(2 * time.Hour), Withheld: 2 * time.Hour, Since: at,
	}}
}

func (f *fakeClock) served() operate.Clock {
	return operate.Clock{
		Ledger: f, Changed: func(context.Context) error { return nil }, Rate: 60,
		Now: func() time.Time { return bin().CreatedAt.Add(time.Hour) }, Machine: func() time.Time { return bin().CreatedAt },
	}
}

func (f *fakeClock) ReadClock(context.Context) (ledger.ClockState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state, nil
}

func (f *fakeClock) ConfirmClock(_ context.Context, who ledger.Author, reason string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state.Withheld == 0 {
		return ledger.ErrNotFound
	}
	f.state.Withheld, f.state.Since = 0, time.Time{}
	f.confirmed = append(f.confirmed, who.By+": "+reason)
	return nil
}

func TestClock(t *testing.T) {
	t.Parallel()
	b, _ := setupRules(t)
	const path = "/api/v1/clock"
	got := b.do(t, http.MethodGet, path, "")
	for _, part := range []string{`"now":"2026-06-01T08:15:00Z"`, `"term":1`, `"began":"2026-06-01T07:15:00Z"`, `"backSeconds":600`, `"aheadSeconds":7200`, `"aheadSince":"2026-06-01T08:15:00Z"`} {
		if got.status != http.StatusOK || !strings.Contains(got.body, part) {
			t.Errorf("%d without %s: %s", got.status, part, got.body)
		}
	}
	got = b.do(t, http.MethodPost, path+"/confirm", `{"reason":"NTP is back"}`, "Content-Type", "application/json")
	if got.status != http.StatusOK || !strings.Contains(got.body, `"now":"2026-06-01T10:15:00Z"`) || strings.Contains(got.body, "ahead") {
		t.Errorf("confirmed: %d %s", got.status, got.body)
	}
	got = b.do(t, http.MethodPost, path+"/confirm", "")
	if got.status != http.StatusConflict || !strings.Contains(got.body, `"clock_not_ahead"`) {
		t.Errorf("once more: %d %s", got.status, got.body)
	}
	if got := b.clock.confirmed; len(got) != 1 || !strings.HasSuffix(got[0], ": NTP is back") {
		t.Errorf("confirmed by %q", got)
	}
}
