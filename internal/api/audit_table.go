package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/engine/silence"
	"tallyman/internal/ledger"
)

// auditedOperation says how a change is recorded.
type auditedOperation struct {
	action string
	object string // a pattern, as "type:{code}"; see changing.part for what may stand in braces
	before func(ctx context.Context, a *API, part func(string) string) (any, error)
	after  auditedState
	// afterwards is asked after the change instead.
	afterwards func(ctx context.Context, a *API, part func(string) string) (any, error)
	// reason is where the request says why; without are members of the state that tell nothing.
	reason  string
	without []string
	skip    func(*changing) bool // where nothing was changed
	// tried has one recorded that was not answered well, too; its state may have so many bytes.
	tried   bool
	largest int
}

// auditedState says what a record has as the state after the change.
type auditedState uint8

const (
	stateOfNothing auditedState = iota
	stateOfRequest
	stateOfAnswer
	stateOfBoth // what was asked and what was done
)

// audit says how each operation that changes something is recorded, by its id. One that is neither here nor in unaudited is recorded under its
// id, with what was asked; a test wants it here.
var audit = map[string]auditedOperation{
	"create-type": {action: "type.create", object: "type:{body.code}", after: stateOfAnswer},
	"put-type":    {action: "type.put", object: "type:{code}", before: typeBefore, after: stateOfAnswer},
	"delete-type": {action: "type.delete", object: "type:{code}", before: typeBefore},

	"create-subscription": {
		action: "subscription.add", object: "subscription:{body.type}:{body.warehouse}:{body.subscriber}", after: stateOfRequest, skip: wasThere,
	},
	"import-subscriptions": {action: "subscription.import", object: "subscriptions", after: stateOfBoth},
	"delete-subscription":  {action: "subscription.remove", object: "subscription:{query.type}:{query.warehouse}:{query.subscriber}"},
	"put-subscriber":       {action: "subscriber.put", object: "subscriber:{id}", before: subscriberBefore, after: stateOfAnswer},
	"delete-subscriber":    {action: "subscriber.delete", object: "subscriber:{id}", before: subscriberBefore},

	"retry-delivery":    {action: "delivery.retry", object: "delivery:{id}", before: deliveryBefore, after: stateOfAnswer},
	"cancel-delivery":   {action: "delivery.cancel", object: "delivery:{id}", before: deliveryBefore, after: stateOfAnswer, reason: "body.reason"},
	"retry-deliveries":  {action: "delivery.retry", object: "deliveries", after: stateOfBoth},
	"cancel-deliveries": {action: "delivery.cancel", object: "deliveries", after: stateOfBoth, reason: "body.reason"},

	"pause-queue":   {action: "queue.pause", object: "queue:{queue}", after: stateOfRequest}, // says whether it is the test twin
	"resume-queue":  {action: "queue.resume", object: "queue:{queue}", after: stateOfRequest},
	"remove-range":  {action: "queue.remove", object: "queue:{queue}", after: stateOfBoth},
	"requeue-items": {action: "queue.requeue", object: "queue:{queue}", after: stateOfBoth},
	"remove-item":   {action: "item.remove", object: "item:{queue}:{id}", reason: "query.note"},
	"finish-item":   {action: "item.finish", object: "item:{queue}:{id}", after: stateOfBoth, reason: "body.note"},
	"assign-item":   {action: "item.assign", object: "item:{queue}:{id}", after: stateOfBoth, reason: "body.note"},
	"requeue-item":  {action: "item.requeue", object: "item:{queue}:{id}", after: stateOfBoth, reason: "body.note"},

	"promote-rule": {action: "rule.promote", object: "rule:{id}:{query.scope}", after: stateOfAnswer},
	"enable-rule":  {action: "rule.enable", object: "rule:{id}:{query.scope}", before: ruleSwitch, afterwards: ruleSwitch, reason: "body.reason"},
	"disable-rule": {action: "rule.disable", object: "rule:{id}:{query.scope}", before: ruleSwitch, afterwards: ruleSwitch, reason: "body.reason"},
	"clear-rule":   {action: "rule.clear", object: "rule:{id}:{query.scope}", before: ruleSwitch, afterwards: ruleSwitch},
	"pause-rules":  {action: "rules.pause", object: "rules", before: pauseSwitch, afterwards: pauseSwitch, reason: "body.reason"},
	"resume-rules": {action: "rules.resume", object: "rules", before: pauseSwitch, afterwards: pauseSwitch},
	"run-rule":     {action: "rule.run", object: "rule:{id}:{query.scope}", after: stateOfAnswer},
	"draft-rule":   {action: "rule.draft", object: "rule:{id}:{body.scope}", after: stateOfRequest, tried: true, largest: 8 * largestDraft},
	"reload-rules": {action: "rules.reload", object: "rules", before: rulesBefore, after: stateOfAnswer},

	"create-silence": {action: "silence.add", object: "silence:{answer.id}", after: stateOfAnswer, reason: "body.comment"},
	"expire-silence": {action: "silence.expire", object: "silence:{id}", before: silenceBefore, after: stateOfAnswer, skip: wasOver},

	"create-token": {action: "token.create", object: "token:{answer.id}", after: stateOfAnswer},
	"revoke-token": {action: "token.revoke", object: "token:{id}", before: tokenBefore, after: stateOfAnswer, skip: wasOver},
}

// unaudited are operations that change no setting, and why they need no record here.
var unaudited = map[string]string{
	"read-notice":      "a reader's own mark, kept with the notice",
	"ack-notice":       "a reader's own mark, kept with the notice",
	"read-all-notices": "a reader's own marks",
	"send-notices":     "the notices themselves are the record",
	"push-items":       "the item's trace says who and when, as of all work below",
	"lease-items":      "work",
	"ack-item":         "work",
	"nack-item":        "work",
	"release-item":     "work",
	"extend-item":      "work",
	"suspend-item":     "work",
	"store-item":       "work",
	"step":             "work; what it does besides is recorded by recordStep",
	"preview-rule":     "it writes nothing",
}

func auditedAs(op *huma.Operation) auditedOperation {
	if how, ok := audit[op.OperationID]; ok {
		return how
	}
	return auditedOperation{action: op.OperationID, object: op.Path, after: stateOfRequest}
}

// wasThere tells that there was nothing to add.
func wasThere(c *changing) bool { return c.status == http.StatusOK }

// wasOver tells that there was nothing to end.
func wasOver(c *changing) bool {
	switch before := c.before.(type) {
	case SilenceForm:
		return before.State == string(silence.Expired)
	case TokenForm:
		return before.Revoked != nil
	}
	return false
}

func typeBefore(ctx context.Context, a *API, part func(string) string) (any, error) {
	types, err := a.deps.Catalogue.Types(ctx)
	if err != nil {
		return nil, err
	}
	if t, ok := types[part("code")]; ok {
		return newTypeForm(&t), nil
	}
	return nil, nil //nolint:nilnil // there was none
}

func subscriberBefore(ctx context.Context, a *API, part func(string) string) (any, error) {
	id := part("id")
	found, err := a.deps.Book.Subscribers(ctx, []string{id})
	if err != nil {
		return nil, err
	}
	if s, ok := found[id]; ok {
		return newSubscriberForm(&s), nil
	}
	return nil, nil //nolint:nilnil // there was none
}

// ruleSwitch is what is switched of the rule, or of the scope that is named.
func ruleSwitch(_ context.Context, a *API, part func(string) string) (any, error) {
	return a.switchOf(part("id"), cmp.Or(part("query.scope"), ledger.Every)), nil
}

func pauseSwitch(_ context.Context, a *API, _ func(string) string) (any, error) {
	return a.switchOf(ledger.Every, ledger.Every), nil
}

// switchOf is nil where nothing is switched.
func (a *API) switchOf(rule, scope string) any {
	for _, s := range a.deps.Rules.Switches() {
		if s.Rule == rule && s.Scope == scope {
			return NewSwitchForm(&s)
		}
	}
	return nil
}

func rulesBefore(_ context.Context, a *API, _ func(string) string) (any, error) {
	return map[string]string{"version": a.deps.RuleFiles().Version}, nil
}

func silenceBefore(ctx context.Context, a *API, part func(string) string) (any, error) {
	if s, prob := a.silence(ctx, part("id")); prob == nil {
		return newSilenceForm(&s, ledger.HeldBack{}, a.deps.Silences.Now()), nil
	}
	return nil, nil //nolint:nilnil // the operation itself says what is wrong
}

func tokenBefore(ctx context.Context, a *API, part func(string) string) (any, error) {
	list, err := a.deps.Tokens.ListTokens(ctx)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(list, func(t ledger.Token) bool { return t.ID == part("id") }); i >= 0 {
		return FormOfToken(&list[i], time.Now()), nil
	}
	return nil, nil //nolint:nilnil // the operation itself says what is wrong
}

func deliveryBefore(ctx context.Context, a *API, part func(string) string) (any, error) {
	if d, prob := a.delivery(ctx, deliveryID(part("id"))); prob == nil {
		return newDeliveryForm(d), nil
	}
	return nil, nil //nolint:nilnil // the operation itself says what is wrong
}
