package queue

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/testenv"
)

// countScripts counts the script calls of a client. A script that the server did not know yet counts once.
type countScripts struct{ calls *int }

func (countScripts) DialHook(next redis.DialHook) redis.DialHook { return next }

func (countScripts) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (c countScripts) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			*c.calls++
		}
		return next(ctx, cmd)
	}
}

// A push of new items is one call. The code that repairs lost items adds none.
func TestAPushOfNewItemsIsOneCall(t *testing.T) {
	t.Parallel()
	n := newNode(t, testenv.Redis(t).Addr, nil)
	calls := 0
	n.client.AddHook(countScripts{&calls})
	n.mustPush(t, newItems(3, 2, "")...)
	if calls != 1 {
		t.Fatalf("%d calls of scripts, want 1", calls)
	}
}
