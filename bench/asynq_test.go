package bench

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// asynqOne is asynq with one server in the process, as its users run it.
func asynqOne() contender { return viaAsynq("asynq", 1, false) }

// asynqMany is asynq with eight servers in one process. With fewer servers it was slower, and with more it was no
// faster.
func asynqMany() contender { return viaAsynq("asynq ×8", 8, false) }

// asynqUnique is asynq with one server. Each task holds a lock on its payload while the task lives.
func asynqUnique() contender { return viaAsynq("asynq unique", 1, true) }

// viaAsynq is asynq with five strict queues and a handler that does nothing. An idle server asks for tasks every
// millisecond instead of every second. asynq has no batches: a batch is that many calls. The servers share the workers
// as their Concurrency. A server fetches in one goroutine, so several servers fetch more.
func viaAsynq(name string, processes int, unique bool) contender {
	return contender{
		name: name,
		open: func(_ testing.TB, s *servers) queue {
			q := &asynqQueue{redis: s.client(), servers: processes}
			q.client = asynq.NewClientFromRedisClient(q.redis)
			if unique {
				q.options = append(q.options, asynq.Unique(time.Hour))
			}
			return q
		},
		backlog: func(c cell) int { return 2500 * min(c.workers, 2) },
		ahead:   steady,
	}
}

type asynqQueue struct {
	redis   *redis.Client
	client  *asynq.Client
	options []asynq.Option
	servers int
	running []*asynq.Server
}

func (q *asynqQueue) push(ctx context.Context, list []job) error {
	for _, j := range list {
		options := append(slices.Clip(q.options), asynq.Queue(strconv.Itoa(j.priority())))
		if _, err := q.client.EnqueueContext(ctx, asynq.NewTask("bench", j.payload), options...); err != nil {
			return err
		}
	}
	return nil
}

func (q *asynqQueue) start(_ context.Context, c cell, taken func([]byte), acked func(int)) error {
	queues := map[string]int{}
	for priority := 1; priority <= levels; priority++ {
		queues[strconv.Itoa(priority)] = priority
	}
	handler := asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		taken(t.Payload())
		acked(1)
		return nil
	})
	for i := range min(q.servers, c.workers) {
		share := c.workers / q.servers
		if i < c.workers%q.servers {
			share++
		}
		s := asynq.NewServerFromRedisClient(q.redis, asynq.Config{
			Concurrency:       share,
			Queues:            queues,
			StrictPriority:    true,
			TaskCheckInterval: time.Millisecond,
			LogLevel:          asynq.FatalLevel,
		})
		if err := s.Start(handler); err != nil {
			return err
		}
		q.running = append(q.running, s)
	}
	return nil
}

func (q *asynqQueue) settle(context.Context) error { return nil }

func (q *asynqQueue) close() {
	for _, s := range q.running {
		s.Shutdown()
	}
	_ = q.redis.Close()
}
