package rows

import (
	"fmt"

	"tallyman/internal/ledger"
)

// Token is a row of tokens.
type Token struct {
	ID                              string
	Hash                            []byte
	Name, Subject                   string
	Access, Subscribers, Warehouses string // JSON
	Created                         int64
	CreatedBy                       string
	Expires, Used, Revoked          int64
	RevokedBy                       string
}

// Columns returns pointers to the fields in the order of the table's columns.
func (t *Token) Columns() []any {
	return []any{
		&t.ID, &t.Hash, &t.Name, &t.Subject, &t.Access, &t.Subscribers, &t.Warehouses, &t.Created, &t.CreatedBy, &t.Expires,
		&t.Used, &t.Revoked, &t.RevokedBy,
	}
}

// Token is the row as it was added.
func (t *Token) Token() (ledger.Token, error) {
	out := ledger.Token{
		ID: t.ID, Hash: append([]byte(nil), t.Hash...), Name: t.Name, Subject: t.Subject, Created: Time(t.Created), CreatedBy: t.CreatedBy,
		Expires: Time(t.Expires), Used: Time(t.Used), Revoked: Time(t.Revoked), RevokedBy: t.RevokedBy,
	}
	for _, list := range []struct {
		column string
		to     *[]string
	}{{t.Access, &out.Access}, {t.Subscribers, &out.Subscribers}, {t.Warehouses, &out.Warehouses}} {
		var err error
		if *list.to, err = ParseTexts(list.column); err != nil {
			return out, fmt.Errorf("token %s: %w", t.ID, err)
		}
	}
	return out, nil
}

// TokenArgs returns the columns of a token that is new.
func TokenArgs(t *ledger.Token) []any {
	return []any{
		t.ID, t.Hash, t.Name, t.Subject, Texts(t.Access), Texts(t.Subscribers), Texts(t.Warehouses), Micros(t.Created), t.CreatedBy, Micros(t.Expires),
	}
}
