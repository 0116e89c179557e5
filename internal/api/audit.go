package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// Audit keeps who changed what; see ledger.Audit. What the ledger itself changes it records itself, in the same transaction.
type Audit interface {
	AddChange(ctx context.Context, c *ledger.Change) error
	Changes(ctx context.Context, f ledger.ChangeFilter) (list []ledger.Change, more bool, err error)
}

const (
	auditTimeout = 10 * time.Second
	largestState = 64 << 10 // bytes of JSON that the record of what is not the ledger's keeps of a state
)

// order records what somebody asks for that is not the ledger's to change, before it is done. Where that cannot be written it is not done.
func (a *API) order(ctx context.Context, action, object string, after any) *wire.Problem {
	who := auth.From(ctx).Author()
	err := a.addChange(ctx, &ledger.Change{By: who.By, Via: who.Via, Action: action, Object: object, After: stateJSON(after)})
	if err != nil {
		return a.ledgerFailed(ctx, err)
	}
	return nil
}

// addChange writes the record, also when the caller has left meanwhile.
func (a *API) addChange(ctx context.Context, c *ledger.Change) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), auditTimeout)
	defer done()
	return a.deps.Audit.AddChange(ctx, c)
}

// notRecorded is the answer where the record of a change could not be written, and nothing was changed. Other errors are not for it.
func (a *API) notRecorded(ctx context.Context, err error) *wire.Problem {
	if !errors.Is(err, ledger.ErrNotRecorded) {
		return nil
	}
	a.log.LogAttrs(ctx, slog.LevelError, "a change was not made: its record could not be written", slog.String("by", auth.From(ctx).Subject), slog.Any("error", err))
	p := wire.NewProblem(http.StatusServiceUnavailable, wire.CodeAuditUnavailable, "nothing was changed: the record of who asked for it could not be written; try again")
	p.RetryAfter = 2
	return p
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
