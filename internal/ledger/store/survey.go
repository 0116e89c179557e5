package store

import (
	"context"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
)

// Survey implements ledger.Surveyor.
func (s *lineageStore) Survey(ctx context.Context) (ledger.Survey, error) {
	found := ledger.Survey{Items: map[string]map[item.State]int64{}}
	var sign, notice int64
	_, err := s.db.One(ctx, "survey", []any{s.LeaseArg()}, &sign, &notice, &found.Claimed, &found.Abandoned, &found.Watermarks)
	if err != nil {
		return found, err
	}
	found.LastSign, found.LastNotice = codec.Time(sign), codec.Time(notice)
	var queue, letter string
	var n int64
	err = s.db.Each(ctx, "survey-items", nil, []any{&queue, &letter, &n}, func() error {
		state, err := item.FromLetter(letter)
		if found.Items[queue] == nil {
			found.Items[queue] = map[item.State]int64{}
		}
		found.Items[queue][state] += n
		return err
	})
	return found, err
}
