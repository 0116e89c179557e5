package bench

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// lists is the floor of the comparison: five Redis lists. Jobs are pushed with LPUSH, and popped with BRPOP, or with
// BLMPOP for batches. A job that a worker has popped and does not finish is lost.
func lists() contender {
	return contender{
		name:    "lists",
		open:    func(_ testing.TB, s *servers) queue { return &listQueue{client: s.client()} },
		backlog: func(c cell) int { return 12_000 * min(c.workers, 4) * min(c.batch, 10) / min(c.batch, 2) },
		ahead:   steady,
	}
}

type listQueue struct {
	client *redis.Client
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func listKey(priority int) string { return "bench:list:" + strconv.Itoa(priority) }

func (q *listQueue) push(ctx context.Context, list []job) error {
	if len(list) == 1 {
		return q.client.LPush(ctx, listKey(list[0].priority()), list[0].payload).Err()
	}
	var byLevel [levels + 1][]any
	for _, j := range list {
		byLevel[j.priority()] = append(byLevel[j.priority()], j.payload)
	}
	_, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for priority, payloads := range byLevel {
			if len(payloads) > 0 {
				p.LPush(ctx, listKey(priority), payloads...)
			}
		}
		return nil
	})
	return err
}

func (q *listQueue) start(ctx context.Context, c cell, taken func([]byte), acked func(int)) error {
	ctx, q.cancel = context.WithCancel(ctx)
	var keys []string
	for priority := levels; priority >= 1; priority-- {
		keys = append(keys, listKey(priority))
	}
	for range c.workers {
		q.done.Go(func() {
			for ctx.Err() == nil {
				payloads, err := q.pop(ctx, c.batch, keys)
				if err != nil {
					continue // Nothing came in time, or the run has ended.
				}
				for _, p := range payloads {
					taken([]byte(p))
				}
				acked(len(payloads))
			}
		})
	}
	return nil
}

func (q *listQueue) pop(ctx context.Context, batch int, keys []string) ([]string, error) {
	if batch == 1 {
		popped, err := q.client.BRPop(ctx, 0, keys...).Result()
		if err != nil {
			return nil, err
		}
		return popped[1:], nil
	}
	_, payloads, err := q.client.BLMPop(ctx, 0, "right", int64(batch), keys...).Result()
	return payloads, err
}

func (q *listQueue) settle(context.Context) error { return nil }

// close closes the connections on which workers wait, so that the workers end.
func (q *listQueue) close() {
	if q.cancel != nil {
		q.cancel()
	}
	_ = q.client.Close()
	q.done.Wait()
}
