package inbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

var errBroken = errors.New("the node dies here")

// breaks is a hook that ends the delivery of a wide notice after some of its calls, as the death of its node does.
type breaks struct {
	mu      sync.Mutex      // the node's other loops call, too
	watched map[string]bool // hashes of the scripts that count
	calls   int             // that are left
	lost    bool            // the call after those runs, and its answer is lost
	done    int             // calls that ran
}

func (b *breaks) after(calls int, lost bool, s scripts) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watched = map[string]bool{s.open.Hash(): true, s.add.Hash(): true, s.close.Hash(): true}
	b.calls, b.lost, b.done = calls, lost, 0
}

// stop lets all calls through again, and returns how many of those that counted ran.
func (b *breaks) stop() (done int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watched = nil
	return b.done
}

// counts tells whether the script is one that counts, and whether its call is to fail before it runs.
func (b *breaks) counts(cmd redis.Cmder) (counted, broken bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watched == nil || !strings.HasPrefix(cmd.Name(), "eval") {
		return false, false
	}
	script := fmt.Sprint(cmd.Args()[1])
	if cmd.Name() == "eval" {
		script = redis.NewScript(script).Hash()
	}
	return b.watched[script], b.calls == 0 && !b.lost
}

func (b *breaks) DialHook(next redis.DialHook) redis.DialHook { return next }

func (b *breaks) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (b *breaks) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		counted, broken := b.counts(cmd)
		if !counted {
			return next(ctx, cmd)
		}
		if broken {
			return errBroken
		}
		if err := next(ctx, cmd); err != nil {
			return err
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.done++
		if b.calls--; b.calls < 0 {
			return errBroken
		}
		return nil
	}
}
