package store

import (
	"context"
	"fmt"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/ledger/record"
	"tallyman/internal/silence"
)

// operationStore is ledger.Operations without Audit.
type operationStore struct{ *base }

// Numbers implements ledger.Numbers.
func (s *operationStore) Numbers(ctx context.Context) (map[string]int64, error) {
	return countBy(ctx, s.db, "numbers")
}

// Switches implements ledger.Switches.
func (s *operationStore) Switches(ctx context.Context) ([]ledger.Switch, error) {
	var row codec.Switch
	return list(ctx, s.db, "switches", nil, row.Columns(), func() (ledger.Switch, error) { return row.Switch(), nil })
}

// SetSwitch implements ledger.Switches.
func (s *operationStore) SetSwitch(ctx context.Context, who ledger.Author, set ledger.Switch) error {
	set.By = who.By
	return s.change(ctx, "set switch", who, func(tx Conn) (*ledger.Change, error) {
		var row codec.Switch
		before, err := one(ctx, tx, "switch", []any{set.Rule, set.Scope}, row.Columns(), func() (ledger.Switch, error) { return row.Switch(), nil })
		if err != nil {
			return nil, err
		}
		if _, err := tx.Exec(ctx, "set-switch", codec.SwitchArgs(&set)...); err != nil {
			return nil, err
		}
		return record.SwitchSet(before, &set), count(ctx, tx, "switches")
	})
}

// Promote implements ledger.Shadows.
func (s *operationStore) Promote(ctx context.Context, who ledger.Author, rule, scope string, at time.Time) error {
	return s.change(ctx, "promote", who, func(tx Conn) (*ledger.Change, error) {
		var before codec.Promotion
		found, err := tx.One(ctx, "promotion", []any{rule, scope}, &before.At, &before.By)
		switch {
		case err != nil:
			return nil, err
		case !found:
			return nil, notKnown(rule, scope)
		case before.At != 0:
			return nil, nil //nolint:nilnil // it is live
		}
		_, err = tx.Exec(ctx, "promote", rule, scope, who.By, codec.Micros(at))
		return record.Promoted(&ledger.Promotion{Rule: rule, Scope: scope, At: at, By: who.By}), err
	})
}

// Demote implements ledger.Shadows.
func (s *operationStore) Demote(ctx context.Context, who ledger.Author, rule, scope string) error {
	return s.change(ctx, "demote", who, func(tx Conn) (*ledger.Change, error) {
		var before codec.Promotion
		if _, err := tx.One(ctx, "promotion", []any{rule, scope}, &before.At, &before.By); err != nil || before.At == 0 {
			return nil, err
		}
		_, err := tx.Exec(ctx, "promote", rule, scope, "", 0)
		return record.Demoted(before.Of(rule, scope)), err
	})
}

// Promotions implements ledger.Shadows.
func (s *operationStore) Promotions(ctx context.Context) ([]ledger.Promotion, error) {
	var p ledger.Promotion
	var at int64
	return list(ctx, s.db, "promotions", nil, []any{&p.Rule, &p.Scope, &at, &p.By}, func() (ledger.Promotion, error) {
		p.At = codec.Time(at)
		return p, nil
	})
}

// AddSilence implements ledger.Silences.
func (s *operationStore) AddSilence(ctx context.Context, who ledger.Author, given *silence.Silence) error {
	added := *given
	added.Author = who.By
	args, err := codec.SilenceArgs(&added)
	if err != nil {
		return err
	}
	return s.change(ctx, "add silence", who, func(tx Conn) (*ledger.Change, error) {
		n, err := tx.Exec(ctx, "add-silence", args...)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, fmt.Errorf("%w: silence %s", ledger.ErrExists, added.ID)
		}
		return record.SilenceAdded(&added), count(ctx, tx, "silences")
	})
}

// EndSilence implements ledger.Silences. EndSilence releases the deliveries that the silence held back. An engine that
// is alone does so in the same transaction. Other engines use a second transaction. It waits for all transactions that
// were about to hold a delivery in the name of the silence, because they lock the silence.
func (s *operationStore) EndSilence(ctx context.Context, who ledger.Author, id string, at time.Time) (ended bool, err error) {
	if id == "" { // An empty id would match all silences in the statement.
		return false, noSilence(id)
	}
	err = s.change(ctx, "end silence", who, func(tx Conn) (*ledger.Change, error) {
		before, err := silenceOf(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		n, err := tx.Exec(ctx, "end-silence", id, codec.Micros(at), who.By)
		if ended = err == nil && n > 0; !ended {
			return nil, err
		}
		if s.db.IsAlone() {
			if err := s.letGo(ctx, tx, id); err != nil {
				return nil, err
			}
		}
		return record.SilenceEnded(before, who.By, at), count(ctx, tx, "silences")
	})
	if err != nil || !ended {
		return false, err
	}
	if !s.db.IsAlone() {
		err = s.db.InTx(ctx, "let go", func(tx Conn) error { return s.letGo(ctx, tx, id) })
	}
	return true, err
}

func (s *operationStore) letGo(ctx context.Context, tx Conn, id string) error {
	_, err := tx.Exec(ctx, "let-go", id, s.NowArg())
	return err
}

// Silence implements ledger.Silences.
func (s *operationStore) Silence(ctx context.Context, id string) (silence.Silence, error) {
	if id == "" {
		return silence.Silence{}, noSilence(id)
	}
	found, err := silenceOf(ctx, s.db, id)
	if err != nil {
		return silence.Silence{}, err
	}
	return *found, nil
}

// silenceOf returns the silence with the id. ErrNotFound.
func silenceOf(ctx context.Context, c Conn, id string) (*silence.Silence, error) {
	var row codec.Silence
	found, err := one(ctx, c, "silences", []any{id}, row.Columns(), row.Silence)
	if err == nil && found == nil {
		err = noSilence(id)
	}
	return found, err
}

func noSilence(id string) error { return fmt.Errorf("%w: silence %q", ledger.ErrNotFound, id) }

// Silences implements ledger.Silences.
func (s *operationStore) Silences(ctx context.Context) ([]silence.Silence, error) {
	var row codec.Silence
	return list(ctx, s.db, "silences", []any{""}, row.Columns(), row.Silence)
}

// CountSilenced implements ledger.Silences.
func (s *operationStore) CountSilenced(ctx context.Context) (map[string]ledger.SilenceCount, error) {
	out := codec.SilenceCounts{}
	var id string
	var n int
	targets := []any{&id, &n}
	if err := s.db.Each(ctx, "silenced-findings", nil, targets, func() error { out.Findings(id, n); return nil }); err != nil {
		return nil, err
	}
	if err := s.db.Each(ctx, "silenced-pushes", []any{s.NowArg()}, targets, func() error { out.Deliveries(id, n); return nil }); err != nil {
		return nil, err
	}
	return out, nil
}

// AddToken implements ledger.Tokens.
func (s *operationStore) AddToken(ctx context.Context, who ledger.Author, t ledger.Token) error {
	t.CreatedBy = who.By
	return s.change(ctx, "add token", who, func(tx Conn) (*ledger.Change, error) {
		_, err := tx.Exec(ctx, "add-token", codec.TokenArgs(&t)...)
		if s.db.IsDuplicate(err) {
			return nil, fmt.Errorf("%w: token %s", ledger.ErrExists, t.ID)
		}
		if err == nil {
			err = count(ctx, tx, "tokens")
		}
		return record.TokenAdded(&t), err
	})
}

// ListTokens implements ledger.Tokens.
func (s *operationStore) ListTokens(ctx context.Context) ([]ledger.Token, error) {
	var row codec.Token
	return list(ctx, s.db, "tokens", nil, row.Columns(), row.Token)
}

// RevokeToken implements ledger.Tokens.
func (s *operationStore) RevokeToken(ctx context.Context, who ledger.Author, id string, at time.Time) error {
	return s.change(ctx, "revoke token", who, func(tx Conn) (*ledger.Change, error) {
		var row codec.Token
		before, err := one(ctx, tx, "token", []any{id}, row.Columns(), row.Token)
		if err != nil {
			return nil, err
		}
		if before == nil {
			return nil, fmt.Errorf("%w: token %q", ledger.ErrNotFound, id)
		}
		n, err := tx.Exec(ctx, "revoke-token", id, who.By, codec.Micros(at))
		if err != nil || n == 0 {
			return nil, err
		}
		return record.TokenRevoked(before, who.By, at), count(ctx, tx, "tokens")
	})
}

// UseTokens implements ledger.Tokens.
func (s *operationStore) UseTokens(ctx context.Context, used map[string]time.Time) error {
	if len(used) == 0 {
		return nil
	}
	ids, times := make([]string, 0, len(used)), make([]int64, 0, len(used))
	for id, at := range used {
		ids, times = append(ids, id), append(times, codec.Micros(at))
	}
	_, err := s.db.Exec(ctx, "use-tokens", ids, times)
	return err
}

// ForgetTokens implements ledger.Tokens.
func (s *operationStore) ForgetTokens(ctx context.Context, before time.Time) (n int64, err error) {
	err = s.db.InTx(ctx, "forget tokens", func(tx Conn) error {
		var err error
		if n, err = tx.Exec(ctx, "forget-tokens", codec.Micros(before)); err != nil || n == 0 {
			return err
		}
		return count(ctx, tx, "tokens")
	})
	return n, err
}
