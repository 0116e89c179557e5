package api

import (
	"context"
	"slices"

	"tallyman/internal/auth"
	"tallyman/internal/item"
)

// orderOf is what the caller asks of a queue beside work. The ledger records the order in the transaction that takes the moves over from Redis.
// asked is nil where the operations say all of it.
func orderOf(ctx context.Context, action, object string, asked any) *item.Order {
	who := auth.From(ctx).Author()
	return &item.Order{By: who.By, Via: string(who.Via), Action: action, Object: object, Asked: stateJSON(asked)}
}

// opTerms is what the record of operations keeps beside them.
type opTerms struct {
	Test  bool `json:"test,omitempty"`
	Force bool `json:"force,omitempty"`
}

// termsOf are nil where there is nothing to keep.
func termsOf(test, force bool) any {
	if !test && !force {
		return nil
	}
	return opTerms{test, force}
}

// orderOfStep is nil for a step that is work alone.
func orderOfStep(ctx context.Context, queue string, s *item.Step) *item.Order {
	if !slices.ContainsFunc(s.Ops, func(op item.Op) bool { return op.Kind.IsOrder() }) {
		return nil
	}
	return orderOf(ctx, "queue.step", queueObject(queue), termsOf(s.Test, false))
}

// orderOfOp is nil for an operation that is work.
func orderOfOp(ctx context.Context, queue string, test bool, op *item.Op) *item.Order {
	if !op.Kind.IsOrder() {
		return nil
	}
	o := orderOf(ctx, "item."+string(op.Kind), "item:"+queue+":"+op.ID, termsOf(test, op.Force))
	o.Reason = op.Note
	return o
}

func queueObject(queue string) string { return "queue:" + queue }
