package api

import (
	"context"

	"tallyman/internal/ledger"
	"tallyman/sinks/queue/item"
)

// viaKey is the context's key of the way by which a step came.
type viaKey struct{}

// stepDone is one operation of a step in its record.
type stepDone struct {
	Op      string       `json:"op"`
	ID      string       `json:"id"`
	Worker  *string      `json:"worker,omitempty"`
	Outcome item.Outcome `json:"outcome"`
	Note    string       `json:"note,omitempty"`
}

// recordStep records what a step has done beside work: the traces of the items have all of it. It is apart from other changes because
// workers step all the time, and must not wait for a record of what needs none.
func (a *API) recordStep(ctx context.Context, queue string, s *item.Step, results []item.Result) *Problem {
	var done []stepDone
	for i := range s.Ops {
		op := &s.Ops[i]
		if unaudited[string(op.Kind)+"-item"] != "" || i >= len(results) || results[i].Outcome != item.OK {
			continue
		}
		one := stepDone{Op: string(op.Kind), ID: op.ID, Outcome: results[i].Outcome, Note: op.Note}
		if op.Kind == item.Assign {
			one.Worker = &op.Worker
		}
		done = append(done, one)
	}
	if len(done) == 0 {
		return nil
	}
	via, _ := ctx.Value(viaKey{}).(ledger.Via)
	return a.record(ctx, via, "step", &ledger.Change{Action: "queue.step", Object: "queue:" + queue, After: stateJSON(done, nil)})
}
