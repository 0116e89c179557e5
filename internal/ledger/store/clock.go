package store

import (
	"context"
	"fmt"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/ledger/record"
)

// clockStore is ledger.Clock.
type clockStore struct{ *base }

// ReadClock implements ledger.Clock.
func (s *clockStore) ReadClock(ctx context.Context) (ledger.ClockState, error) {
	return s.read(ctx, s.db)
}

func (s *clockStore) read(ctx context.Context, c Conn) (ledger.ClockState, error) {
	var st ledger.ClockState
	var began, back, withheld, since, seen, now int64
	_, err := c.One(ctx, "clock", []any{s.LeaseArg()}, &st.Number, &began, &back, &withheld, &since, &seen, &now)
	if err != nil {
		return ledger.ClockState{}, err
	}
	st.Began, st.Back, st.Machine = codec.Time(began), codec.Span(back), codec.Time(now)
	st.Withheld, st.Since, st.Seen = codec.Span(withheld), codec.Time(since), codec.Time(seen)
	return st, nil
}

// SeeTime implements ledger.Clock.
func (s *clockStore) SeeTime(ctx context.Context, was ledger.ClockState) error {
	_, err := s.db.Exec(ctx, "see-time", was.Number, was.Withheld.Microseconds(), codec.Micros(was.Now()))
	return err
}

// BeginTerm implements ledger.Clock.
func (s *clockStore) BeginTerm(ctx context.Context, who ledger.Author, was ledger.ClockState, back, longest time.Duration) (begun bool, err error) {
	err = s.change(ctx, "begin a clock term", who, func(tx Conn) (*ledger.Change, error) {
		var began int64
		args := []any{was.Number, was.Withheld.Microseconds(), back.Microseconds(), s.LeaseArg()}
		if begun, err = tx.One(ctx, "begin-term", args, &began); err != nil || !begun {
			return nil, err
		}
		for _, name := range []string{"turn-claims", "turn-lanes", "turn-indexes", "turn-pushes"} {
			if _, err := tx.Exec(ctx, name, began, back.Microseconds(), longest.Microseconds()); err != nil {
				return nil, err
			}
		}
		if _, err := tx.Exec(ctx, "turn-nodes", began, back.Microseconds()); err != nil {
			return nil, err
		}
		return record.TermBegun(&was, codec.Time(began), back), nil
	})
	return begun && err == nil, err
}

// WithholdClock implements ledger.Clock.
func (s *clockStore) WithholdClock(ctx context.Context, who ledger.Author, was ledger.ClockState, withheld time.Duration) (done bool, err error) {
	err = s.change(ctx, "withhold the clock", who, func(tx Conn) (*ledger.Change, error) {
		if done, err = s.withhold(ctx, tx, &was, withheld); err != nil || !done {
			return nil, err
		}
		return record.ClockWithheld(&was, withheld), nil
	})
	return done && err == nil, err
}

// ConfirmClock implements ledger.Clock.
func (s *clockStore) ConfirmClock(ctx context.Context, who ledger.Author, reason string) error {
	return s.change(ctx, "confirm the clock", who, func(tx Conn) (*ledger.Change, error) {
		was, err := s.read(ctx, tx)
		if err != nil {
			return nil, err
		}
		if was.Withheld == 0 {
			return nil, fmt.Errorf("%w: nothing is withheld", ledger.ErrNotFound)
		}
		if done, err := s.withhold(ctx, tx, &was, 0); err != nil || !done {
			return nil, err
		}
		return record.ClockConfirmed(&was, reason), nil
	})
}

func (s *clockStore) withhold(ctx context.Context, tx Conn, was *ledger.ClockState, withheld time.Duration) (bool, error) {
	var since int64
	if withheld > 0 {
		since = codec.Micros(was.Since)
	}
	n, err := tx.Exec(ctx, "withhold", was.Number, was.Withheld.Microseconds(), withheld.Microseconds(), since)
	return n > 0, err
}
