package inbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

var errBroken = errors.New("the node dies here")

// breaks is a hook that ends the delivery of a wide notice after some of its calls, as the death of its node does.
type breaks struct {
	watched map[string]bool // hashes of the scripts that count
	calls   int             // that are left
	lost    bool            // the call after those runs, and its answer is lost
	done    int             // calls that ran
}

func (b *breaks) after(calls int, lost bool, s scripts) {
	b.watched = map[string]bool{s.open.Hash(): true, s.add.Hash(): true, s.close.Hash(): true}
	b.calls, b.lost, b.done = calls, lost, 0
}

func (b *breaks) stop() { b.watched = nil }

func (b *breaks) DialHook(next redis.DialHook) redis.DialHook { return next }

func (b *breaks) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (b *breaks) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if b.watched == nil || !strings.HasPrefix(cmd.Name(), "eval") {
			return next(ctx, cmd)
		}
		script := fmt.Sprint(cmd.Args()[1])
		if cmd.Name() == "eval" {
			script = redis.NewScript(script).Hash()
		}
		if !b.watched[script] {
			return next(ctx, cmd)
		}
		if b.calls == 0 && !b.lost {
			return errBroken
		}
		if err := next(ctx, cmd); err != nil {
			return err
		}
		b.done++
		if b.calls--; b.calls < 0 {
			return errBroken
		}
		return nil
	}
}
