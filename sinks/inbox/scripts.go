package inbox

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"tallyman/sinks/index"
)

var (
	//go:embed scripts/read.lua
	readLua string
	//go:embed scripts/mark.lua
	markLua string
	//go:embed scripts/readall.lua
	readAllLua string
	//go:embed scripts/popups.lua
	popupsLua string
	//go:embed scripts/trim.lua
	trimLua string
	//go:embed scripts/fanout.lua
	fanoutLua string
	//go:embed scripts/poll.lua
	pollLua string
	//go:embed scripts/begin.lua
	beginLua string
	//go:embed scripts/wipe.lua
	wipeLua string
	//go:embed scripts/due.lua
	dueLua string
	//go:embed scripts/sweep.lua
	sweepLua string
)

type scripts struct{ fanout, poll, begin, wipe, due, sweep, mark, readAll, popups, trim *redis.Script }

func newScripts() scripts {
	return scripts{
		fanout: redis.NewScript(fanoutLua), poll: redis.NewScript(readLua + pollLua), begin: redis.NewScript(beginLua),
		wipe: redis.NewScript(wipeLua), due: redis.NewScript(dueLua), sweep: redis.NewScript(sweepLua),
		mark: redis.NewScript(markLua), readAll: redis.NewScript(readLua + readAllLua), popups: redis.NewScript(readLua + popupsLua),
		trim: redis.NewScript(readLua + trimLua),
	}
}

// errAhead says that a reader's score lies ahead of the clock, which goes back only when something was lost.
var errAhead = errors.New("inbox: the clock has gone back")

// run calls a script that answers with texts and numbers.
func (in *Inbox) run(ctx context.Context, s *redis.Script, keys []string, args ...any) ([]any, error) {
	reply, err := s.Run(ctx, in.o.Client, keys, args...).Slice()
	return reply, known(err)
}

// runCount calls a script that answers with a number.
func (in *Inbox) runCount(ctx context.Context, s *redis.Script, keys []string, args ...any) (int64, error) {
	n, err := s.Run(ctx, in.o.Client, keys, args...).Int64()
	return n, known(err)
}

// known gives the errors of our own scripts their types.
func known(err error) error {
	if err != nil && strings.HasPrefix(err.Error(), "CLOCK ") {
		return errAhead
	}
	return index.Known(err)
}

// texts turns a script's reply into strings.
func texts(reply []any) ([]string, error) {
	out := make([]string, len(reply))
	for i, v := range reply {
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("inbox: a script answered a %T where a text was due", v)
		}
		out[i] = s
	}
	return out, nil
}
