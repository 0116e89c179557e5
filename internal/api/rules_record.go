package api

import (
	"context"

	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// order records what somebody asks for that is not the ledger's to change, before it is done. Where that cannot be written it is not done.
func (a *API) order(ctx context.Context, action, object string, after any) *wire.Problem {
	who := auth.From(ctx).Author()
	err := a.addChange(ctx, &ledger.Change{By: who.By, Via: who.Via, Action: action, Object: object, After: StateJSON(after)})
	if err != nil {
		return LedgerFailed(ctx, a.log, err)
	}
	return nil
}
