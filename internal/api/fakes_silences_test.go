package api_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tallyman/internal/api/operate"
	"tallyman/internal/ledger"
	"tallyman/internal/silence"
)

// fakeSilences keeps silences in memory. It is a quarter past eight.
type fakeSilences struct {
	mu      sync.Mutex
	list    []silence.Silence
	held    map[string]ledger.SilenceCount
	changed int
	failure error
	unread  error // of the node that is to take changes in
}

var quarterPast = time.Date(2026, 6, 1, 0, 15, 0, 0, time.UTC)

func (f *fakeSilences) served() operate.Silences {
	return operate.Silences{Ledger: f, Now: func() time.Time { return quarterPast }, Changed: func(context.Context) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.changed++
		return f.unread
	}}
}

func (f *fakeSilences) AddSilence(_ context.Context, _ ledger.Author, s *silence.Silence) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append([]silence.Silence{*s}, f.list...)
	return f.failure
}

func (f *fakeSilences) EndSilence(_ context.Context, who ledger.Author, id string, at time.Time) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.list {
		if s := &f.list[i]; s.ID == id && s.State(at) != silence.Expired {
			s.Ended, s.EndedBy = at, who.By
			return true, f.failure
		}
	}
	return false, f.failure
}

func (f *fakeSilences) Silence(_ context.Context, id string) (silence.Silence, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.list {
		if s.ID == id {
			return s, f.failure
		}
	}
	return silence.Silence{}, fmt.Errorf("%w: silence %q", ledger.ErrNotFound, id)
}

func (f *fakeSilences) Silences(context.Context) ([]silence.Silence, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.list), f.failure
}

func (f *fakeSilences) CountSilenced(context.Context) (map[string]ledger.SilenceCount, error) {
	return f.held, f.failure
}

// someSilences are one that is active, a weekly window and one that was ended.
func someSilences() *fakeSilences {
	matchers := func(texts ...string) (list []silence.Matcher) {
		for _, text := range texts {
			m, err := silence.ParseMatcher(text)
			if err != nil {
				panic(err)
			}
			list = append(list, m)
		}
		return list
	}
	window, err := silence.NewWindow("0 22 * * 6", "Asia/Shanghai", 8*time.Hour)
	if err != nil {
		panic(err)
	}
	eight := quarterPast.Add(-15 * time.Minute)
	return &fakeSilences{
		held: map[string]ledger.SilenceCount{"s_stocktake": {Findings: 3, Deliveries: 2}, "s_ended": {Findings: 1}},
		list: []silence.Silence{
			{
				ID: "s_stocktake", Matchers: matchers("rule=negative-bin-stock", "warehouse=~1192.*", "area!=inbound"), From: eight,
				Until: eight.Add(2 * time.Hour), Comment: "stocktake", Author: "user:ann", Created: eight, Events: 4,
			},
			{ID: "s_weekly", Matchers: matchers("warehouse=119240"), From: eight, Window: window, Author: "user:ann", Created: eight},
			{
				ID: "s_ended", Matchers: matchers("type=REP_NOTICE"), From: eight, Until: eight.Add(time.Hour), Author: "user:ann", Created: eight,
				Ended: eight.Add(10 * time.Minute), EndedBy: "user:bob",
			},
		},
	}
}
