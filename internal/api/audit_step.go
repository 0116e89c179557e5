package api

import (
	"context"

	"tallyman/internal/ledger"
	"tallyman/sinks/queue/item"
)

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
		if _, recorded := queueRecords[string(op.Kind)+"-item"]; !recorded || i >= len(results) || results[i].Outcome != item.OK {
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
	return a.record(ctx, "step", &ledger.Change{Action: "queue.step", Object: "queue:" + queue, After: stateJSON(done)})
}
