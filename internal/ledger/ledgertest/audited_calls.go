package ledgertest

import (
	"context"
	"encoding/json"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
)

func canceling(seqs ...int64) func(context.Context, ledger.Ledger, ledger.Author) error {
	return func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
		return second(l.CancelDeliveries(ctx, who, seqs, "by phone"))
	}
}

func retrying(seqs ...int64) func(context.Context, ledger.Ledger, ledger.Author) error {
	return func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
		_, _, err := l.RetryDeliveries(ctx, who, seqs)
		return err
	}
}

func taking(version string) func(context.Context, ledger.Ledger, ledger.Author) error {
	return func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
		return second(l.TakeRules(ctx, who, 0, &ledger.RulesVersion{Version: version, Rules: 2, Added: []string{rule}}))
	}
}

// ordered is a queue whose operators leave records.
const ordered = "ordered"

// queued makes items of the queue, in an epoch of it.
func queued(ctx context.Context, l ledger.Ledger) error {
	if err := l.BeginEpoch(ctx, ordered, "", ledger.IndexState{Epoch: "e1"}, "a", 0); err != nil {
		return err
	}
	_, err := l.PushItems(ctx, ordered, []item.Record{newItem("i_1"), newItem("i_2")})
	return err
}

func pausing(queue string, p item.Pause) func(context.Context, ledger.Ledger, ledger.Author) error {
	return func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
		return l.SetQueuePause(ctx, &item.Order{By: who.By, Via: string(who.Via)}, queue, p)
	}
}

// ordering takes an item out of the queue at the position of its outbox, as the drain does.
func ordering(position int64, id string) func(context.Context, ledger.Ledger, ledger.Author) error {
	return func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
		r, _, err := l.ItemTrace(ctx, ordered, id)
		if err != nil {
			return err
		}
		return l.ApplyMoves(ctx, ordered, "e1", []item.Moves{{
			Position: position, List: []item.Move{{Seq: r.Seq, N: 1, At: start, From: item.Ready, To: item.Removed, By: who.By, Node: "a"}},
			Changes: []item.Change{{
				Order: item.Order{
					By: who.By, Via: string(who.Via), Action: "item.remove", Object: "item:" + ordered + ":" + id, Reason: "by mistake",
					Asked: json.RawMessage(`{"force":true}`),
				},
				At: start, Done: json.RawMessage(`[{"op":"remove","id":"` + id + `"}]`),
			}},
		}})
	}
}
