package store

import (
	"context"
	"fmt"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/ledger/record"
	"tallyman/rules/scopelist"
)

// scopeLists is the number that grows with every change of a list in force.
const scopeLists = "scope_lists"

func scopeOrigin(rule string) ledger.OriginKey {
	return ledger.OriginKey{Kind: ledger.OriginScopes, Name: rule}
}

// ScopeOrigins implements ledger.ScopeOrigins.
func (s *catalogueStore) ScopeOrigins(ctx context.Context) ([]ledger.ScopeOrigin, error) {
	var row codec.Origin
	return list(ctx, s.db, "scope-origins", nil, row.Columns(), func() (ledger.ScopeOrigin, error) {
		o := ledger.ScopeOrigin{OriginState: row.State(), Listed: row.List != "", Scopes: row.Listed}
		if row.Waits == "" {
			return o, nil
		}
		present, wanted, err := row.Scopes()
		o.Waits = &ledger.WaitingScopes{
			Hash: scopelist.Hash(row.Waits), Since: codec.Time(row.WaitsSince), Scopes: len(wanted), Change: scopelist.Different(present, wanted),
		}
		return o, err
	})
}

// ScopeLists implements ledger.ScopeLists.
func (s *catalogueStore) ScopeLists(ctx context.Context) (map[string]scopelist.List, error) {
	lists := map[string]scopelist.List{}
	var rule, text string
	err := s.db.Each(ctx, "scope-lists", nil, []any{&rule, &text}, func() error {
		list, err := scopelist.Parse(text)
		if err != nil {
			return fmt.Errorf("the scopes of rule %s: %w", rule, err)
		}
		lists[rule] = list
		return nil
	})
	if err != nil {
		return nil, err
	}
	return lists, nil
}

// TakeScopes implements ledger.ScopeKeeper.
func (s *catalogueStore) TakeScopes(ctx context.Context, who ledger.Author, rule string, token int64, wanted scopelist.List) (c ledger.ScopeChange, err error) {
	given, err := wanted.Text()
	if err != nil {
		return c, fmt.Errorf("%w: %w", ledger.ErrInvalid, err)
	}
	err = s.change(ctx, "take scopes", who, func(tx Conn) (*ledger.Change, error) {
		row, err := claimedOrigin(ctx, tx, scopeOrigin(rule), token)
		if err != nil {
			return nil, err
		}
		present, _, err := row.Scopes()
		if err != nil {
			return nil, err
		}
		row.Answered, row.Failed, row.Error = row.Asked, 0, ""
		change := scopelist.Different(present, wanted)
		if change.Waits(present, wanted, row.List != "") {
			c = ledger.ScopeChange{Waits: true}
			return nil, waitFor(ctx, tx, row, given)
		}
		c = ledger.ScopeChange{Difference: change}
		return s.replaceScopes(ctx, tx, row, given, &c, len(wanted), false)
	})
	return c, err
}

// replaceScopes puts a list in force. Afterwards no list waits.
func (s *catalogueStore) replaceScopes(ctx context.Context, tx Conn, row *codec.Origin, given string, c *ledger.ScopeChange, scopes int, confirmed bool) (*ledger.Change, error) {
	changed := row.List != given
	row.List, row.Listed, row.Waits, row.WaitsSince = given, scopes, "", 0
	if err := setOrigin(ctx, tx, row); err != nil || !changed {
		return nil, err
	}
	return record.ScopesTaken(row.Name, scopes, c, confirmed), count(ctx, tx, scopeLists)
}

// ConfirmScopes implements ledger.ScopeKeeper.
func (s *catalogueStore) ConfirmScopes(ctx context.Context, who ledger.Author, rule, hash string) (c ledger.ScopeChange, err error) {
	err = s.change(ctx, "confirm scopes", who, func(tx Conn) (*ledger.Change, error) {
		row, err := origin(ctx, tx, scopeOrigin(rule))
		if err != nil {
			return nil, err
		}
		if row == nil || row.Waits == "" || scopelist.Hash(row.Waits) != hash {
			return nil, fmt.Errorf("%w: rule %s", ledger.ErrOtherList, rule)
		}
		present, wanted, err := row.Scopes()
		if err != nil {
			return nil, err
		}
		c = ledger.ScopeChange{Difference: scopelist.Different(present, wanted)}
		return s.replaceScopes(ctx, tx, row, row.Waits, &c, len(wanted), true)
	})
	return c, err
}

// ForgetScopes implements ledger.ScopeKeeper.
func (s *catalogueStore) ForgetScopes(ctx context.Context, who ledger.Author, rule string) error {
	return s.change(ctx, "forget scopes", who, func(tx Conn) (*ledger.Change, error) {
		row, err := origin(ctx, tx, scopeOrigin(rule))
		if err != nil {
			return nil, err
		}
		if row == nil {
			return nil, fmt.Errorf("%w: the ledger has no scopes of rule %s from a query", ledger.ErrNotFound, rule)
		}
		if _, err := tx.Exec(ctx, "delete-origin", string(ledger.OriginScopes), rule); err != nil {
			return nil, err
		}
		return record.ScopesForgotten(rule, row.Listed), count(ctx, tx, scopeLists)
	})
}
