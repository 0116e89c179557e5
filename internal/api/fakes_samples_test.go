package api_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tallyman/internal/ledger"
)

// fakeSamples keeps samples in memory, and the facts from which samples are made.
type fakeSamples struct {
	lock    sync.Mutex
	claims  map[string]bool
	kept    map[time.Duration][]ledger.Sample
	open    []ledger.RuleFindings
	waiting []ledger.WaitingDelivery
	failed  []ledger.Run
	broken  error
}

func (f *fakeSamples) CountRuleFindings(context.Context) ([]ledger.RuleFindings, error) {
	f.lock.Lock()
	defer f.lock.Unlock()
	return f.open, f.broken
}

func (f *fakeSamples) FailedRuns(_ context.Context, since time.Time, _ int) ([]ledger.Run, error) {
	var out []ledger.Run
	for i := range f.failed {
		if !f.failed[i].Due.Before(since) {
			out = append(out, f.failed[i])
		}
	}
	return out, f.broken
}

func (f *fakeSamples) WaitingDeliveries(context.Context, time.Time, int) ([]ledger.WaitingDelivery, error) {
	return f.waiting, nil
}

func (f *fakeSamples) ClaimSample(_ context.Context, step time.Duration, start time.Time) (bool, error) {
	f.lock.Lock()
	defer f.lock.Unlock()
	key := fmt.Sprint(step, start.UnixMicro())
	claimed := f.claims[key]
	if f.claims == nil {
		f.claims = map[string]bool{}
	}
	f.claims[key] = true
	return !claimed, nil
}

func (f *fakeSamples) RecordSamples(_ context.Context, step time.Duration, list []ledger.Sample) error {
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.kept == nil {
		f.kept = map[time.Duration][]ledger.Sample{}
	}
	f.kept[step] = append(f.kept[step], list...)
	return nil
}

func (f *fakeSamples) Samples(_ context.Context, step time.Duration, from, to time.Time) ([]ledger.Sample, error) {
	f.lock.Lock()
	defer f.lock.Unlock()
	var out []ledger.Sample
	for _, s := range f.kept[step] {
		if !s.Start.Before(from) && s.Start.Before(to) {
			out = append(out, s)
		}
	}
	return out, f.broken
}

func (f *fakeSamples) LastSample(_ context.Context, step time.Duration) (last time.Time, _ error) {
	f.lock.Lock()
	defer f.lock.Unlock()
	for _, s := range f.kept[step] {
		if s.Start.After(last) {
			last = s.Start
		}
	}
	return last, nil
}

func (f *fakeSamples) PruneSamples(_ context.Context, step time.Duration, before time.Time) error {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.kept[step] = slices.DeleteFunc(f.kept[step], func(s ledger.Sample) bool { return s.Start.Before(before) })
	return nil
}
