package api_test

import (
	"cmp"
	"context"
	"slices"
	"time"

	"tallyman/internal/item"
)

// step does a step, and waits as a queue does.
func (q *fakeQueue) step(ctx context.Context, s item.Step) (item.Stepped, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.steps = append(q.steps, s)
	q.order(s.Order)
	if q.err != nil {
		return item.Stepped{}, q.err
	}
	if done, ok := q.replays[s.Name()+" "+s.RequestID]; ok && s.RequestID != "" {
		return done, nil
	}
	var done item.Stepped
	for _, op := range s.Ops {
		done.Results = append(done.Results, q.apply(&s.Caller, op, s.By))
	}
	err := q.await(ctx, s)
	done.Items = q.lease(s)
	q.replays[s.Name()+" "+s.RequestID] = done
	return done, err
}

// await waits for something that is ready. The lock is held before and after.
func (q *fakeQueue) await(ctx context.Context, s item.Step) error {
	if s.Max == 0 || s.Wait == 0 || q.hasty {
		return nil
	}
	over := time.After(s.Wait)
	for !q.any(s.Scope) {
		changed := q.changed
		q.mu.Unlock()
		q.waiting <- struct{}{}
		select {
		case <-changed:
		case <-over:
			q.mu.Lock()
			return nil
		case <-ctx.Done():
			q.mu.Lock()
			return ctx.Err()
		}
		q.mu.Lock()
	}
	return nil
}

func (q *fakeQueue) any(scope item.Scope) bool {
	return !q.pause.Paused && len(q.in(scope, item.Ready)) > 0
}

func (q *fakeQueue) lease(s item.Step) []item.Lease {
	if !q.any(s.Scope) {
		return nil
	}
	lease := s.Lease
	if lease == 0 {
		lease = time.Minute
	}
	var leased []item.Lease
	ready := q.in(s.Scope, item.Ready)
	for _, i := range ready[:min(s.Max, len(ready))] {
		i.Attempt++
		q.move(i, item.Leased, s.By, "")
		i.Worker, i.Due = s.Name(), time.Now().Add(lease)
		leased = append(leased, item.Lease{
			ID: i.ID, Warehouse: i.Warehouse, Attempt: i.Attempt, Priority: i.Priority, Payload: i.Payload, Until: i.Due, Created: i.Created, Failures: i.Failures, Suspends: i.Suspends,
		})
	}
	return leased
}

// apply does one operation; two failures are too many, and one suspend is allowed.
func (q *fakeQueue) apply(c *item.Caller, op item.Op, by string) item.Result {
	r := item.Result{Kind: op.Kind, ID: op.ID}
	i := q.find(c.Scope, op.ID)
	if i == nil || i.State.Ended() {
		r.Outcome = item.NotFound
		if op.Attempt > 0 {
			r.Outcome = item.LeaseLost
		}
		return r
	}
	if r.Outcome = refusal(op, i); r.Outcome != item.OK {
		return r
	}
	to := map[item.OpKind]item.State{
		item.Ack: item.Done, item.Nack: item.Ready, item.Release: item.Ready, item.Extend: item.Leased, item.Suspend: item.Suspended, item.Store: item.Stored,
		item.Finish: item.Done, item.Assign: i.State, item.Remove: item.Removed, item.Requeue: item.Ready, item.Set: i.State,
	}[op.Kind]
	switch op.Kind {
	case item.Nack:
		if i.Failures++; i.Failures == 2 {
			to = item.Dead
		} else if op.Delay > 0 {
			to = item.Delayed
		}
	case item.Suspend:
		i.Suspends++
	case item.Assign:
		if i.Assignee = op.Worker; i.State == item.Leased {
			to = item.Ready
		}
	case item.Set:
		i.Priority = cmp.Or(op.Set.Priority, i.Priority)
		if op.Set.Order != nil {
			i.Order = *op.Set.Order
		}
	default: // the state says it
	}
	worker := i.Worker
	q.move(i, to, by, op.Note)
	switch to {
	case item.Delayed, item.Stored, item.Leased:
		i.Due = time.Now().Add(op.Delay)
	case item.Suspended:
		i.Due = time.Now().Add(2 * time.Hour)
	default: // it is not waited for
	}
	if to == item.Leased {
		i.Worker = worker
	}
	r.State, r.Due = i.State, i.Due
	return r
}

// refusal is what stands against an operation.
func refusal(op item.Op, i *item.Item) item.Outcome {
	switch {
	case op.Attempt > 0 && (i.State != item.Leased || i.Attempt != op.Attempt):
		return item.LeaseLost
	case op.Attempt == 0 && i.State == item.Leased && !op.Force:
		return item.IsLeased
	case op.Kind == item.Requeue && i.State != item.Dead:
		return item.NotDead
	case i.State == item.Dead && slices.Contains([]item.OpKind{item.Suspend, item.Store, item.Finish, item.Assign}, op.Kind):
		return item.IsDead
	case op.Kind == item.Suspend && i.Suspends > 0:
		return item.SuspendLimit
	}
	return item.OK
}

// stepped returns the steps so far and forgets them.
func (q *fakeQueue) stepped() []item.Step {
	q.mu.Lock()
	defer q.mu.Unlock()
	steps := q.steps
	q.steps = nil
	return steps
}
