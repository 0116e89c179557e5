package store

import (
	"context"
	"math"
	"slices"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
)

// place is the position of a walk through the open findings: scope and hash of the last finding read.
type place struct {
	scope int64
	hash  string
}

// The ends of the order of open findings.
var (
	beforeAll = place{0, "00000000-0000-0000-0000-000000000000"}
	behindAll = place{math.MaxInt32, "ffffffff-ffff-ffff-ffff-ffffffffffff"}
)

// FindFindings implements ledger.Finder.
func (s *historyStore) FindFindings(ctx context.Context, f ledger.TextFilter) (list []ledger.FoundFinding, all bool, err error) {
	hashes := make([]finding.Hash, len(f.Keys))
	for i, key := range f.Keys {
		hashes[i] = finding.HashOf(key)
	}
	if list, err = s.foundFindings(ctx, "keyed-findings", codec.Hashes(hashes), among(f.Warehouses), f.Limit+1); err != nil {
		return nil, false, err
	}
	spellings := codec.Spellings(f.Spellings)
	for at := beforeAll; at != behindAll && len(list) <= f.Limit; {
		if !time.Now().Before(f.Until) {
			return list, false, nil
		}
		to := behindAll
		err := s.db.EachPlanned(ctx, byKey, "looked-findings", []any{at.scope, at.hash, ledger.LookedAt}, []any{&to.scope, &to.hash}, func() error { return nil })
		if err != nil {
			return nil, false, err
		}
		more, err := s.foundFindings(ctx, "find-findings", at.scope, at.hash, to.scope, to.hash, spellings, among(f.Warehouses), f.Limit+1)
		if err != nil {
			return nil, false, err
		}
		for _, one := range more {
			if !slices.ContainsFunc(list, func(known ledger.FoundFinding) bool { return sameFinding(&known, &one) }) {
				list = append(list, one)
			}
		}
		at = to
	}
	return list[:min(len(list), f.Limit)], len(list) <= f.Limit, nil
}

func sameFinding(a, b *ledger.FoundFinding) bool {
	return a.Rule == b.Rule && a.Scope == b.Scope && a.Key == b.Key
}

// foundFindings reads open findings with their places.
func (s *historyStore) foundFindings(ctx context.Context, name string, args ...any) (list []ledger.FoundFinding, err error) {
	var f ledger.FoundFinding
	var row codec.Finding
	err = s.db.EachPlanned(ctx, byKey, name, args, append([]any{&f.Rule, &f.Scope, &f.Warehouse}, row.Columns()...), func() error {
		f.State = row.State()
		list = append(list, f)
		return nil
	})
	return list, err
}

// FindItems implements ledger.Finder.
func (s *queueStore) FindItems(ctx context.Context, queue string, f ledger.TextFilter) (list []item.Record, all bool, err error) {
	id, known, err := s.IDs.Queue(ctx, queue)
	if err != nil || !known {
		return nil, err == nil, err
	}
	for _, key := range f.Spellings {
		page, _, err := s.KeyItems(ctx, queue, key, f.Warehouses, 0, f.Limit+1)
		if err != nil {
			return nil, false, err
		}
		list = append(list, page...)
	}
	spellings, before := codec.Spellings(f.Spellings), int64(math.MaxInt64)
	for looked := 0; before > 0 && looked < ledger.MostLookedAt && len(list) <= f.Limit; looked += ledger.LookedAt {
		if !time.Now().Before(f.Until) {
			return list, false, nil
		}
		lowest := int64(0) // below all
		if _, err := s.db.One(ctx, "looked-items", []any{id, before, ledger.LookedAt}, &lowest); err != nil {
			return nil, false, err
		}
		var row codec.Item
		page, err := s.records(ctx, "find-items", []any{id, before, lowest, spellings, among(f.Warehouses), f.Limit + 1}, &row, row.Columns())
		if err != nil {
			return nil, false, err
		}
		if err := s.stand(ctx, page); err != nil {
			return nil, false, err
		}
		for i := range page {
			if !slices.ContainsFunc(list, func(known item.Record) bool { return known.Seq == page[i].Seq }) {
				list = append(list, page[i])
			}
		}
		before = lowest
	}
	return list[:min(len(list), f.Limit)], before <= 0 && len(list) <= f.Limit, nil
}

// among returns the argument that filters by warehouse; nil = no filter.
func among(warehouses []string) any {
	if warehouses == nil {
		return nil
	}
	return warehouses
}
