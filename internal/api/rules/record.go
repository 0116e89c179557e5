package rules

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// order records what somebody asks for that is not the ledger's to change, before it is done. Where that cannot be written it is not done.
func (h *Handlers) order(ctx context.Context, action, object string, after any) *wire.Problem {
	who := auth.From(ctx).Author()
	err := h.addChange(ctx, &ledger.Change{By: who.By, Via: who.Via, Action: action, Object: object, After: api.StateJSON(after)})
	if err != nil {
		return api.LedgerFailed(ctx, h.log, err)
	}
	return nil
}

const auditTimeout = 10 * time.Second

// addChange writes the record, also when the caller has left meanwhile.
func (h *Handlers) addChange(ctx context.Context, c *ledger.Change) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), auditTimeout)
	defer done()
	return h.deps.Audit.AddChange(ctx, c)
}

// textState is what a record keeps of a text that was tried: enough to tell whether it was this one.
type textState struct {
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func newTextState(text string) textState {
	sum := sha256.Sum256([]byte(text))
	return textState{len(text), hex.EncodeToString(sum[:])}
}

// triedState is what a record keeps of a preview or a draft.
type triedState struct {
	At    string    `json:"at,omitempty"`
	Limit int       `json:"limit"`
	Text  textState `json:"text"` // of the rule's entry, as it is in force or as it was drafted
}

// ruleObject names a rule, in a scope where one is given.
func ruleObject(id string, scope *string) string {
	if scope == nil || *scope == "" {
		return "rule:" + id
	}
	return "rule:" + id + ":" + *scope
}
