package queue

import (
	"context"
	_ "embed" // the scripts
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"tallyman/sinks/recovery"
)

var (
	//go:embed scripts/common.lua
	commonLua string
	//go:embed scripts/order.lua
	orderLua string
	//go:embed scripts/enqueue.lua
	enqueueLua string
	//go:embed scripts/work.lua
	workLua string
	//go:embed scripts/step.lua
	stepLua string
	//go:embed scripts/repair.lua
	repairLua string
)

type scripts struct{ enqueue, step, repair *redis.Script }

func newScripts() *scripts {
	return &scripts{enqueue: newScript(enqueueLua), step: newScript(orderLua + workLua + stepLua), repair: newScript(repairLua)}
}

// newScript returns a script that begins with common.lua.
func newScript(text string) *redis.Script { return redis.NewScript(commonLua + text) }

// The scripts that begin, fill and drain a line. They do not use common.lua.
var (
	//go:embed scripts/begin.lua
	beginLua string
	//go:embed scripts/hold.lua
	holdLua string
	//go:embed scripts/tell.lua
	tellLua string
	//go:embed scripts/absent.lua
	absentLua string
	//go:embed scripts/drain.lua
	drainLua string
)

type lifeScripts struct{ begin, hold, tell, absent, drain *redis.Script }

func newLifeScripts() *lifeScripts {
	return &lifeScripts{
		begin: redis.NewScript(beginLua), hold: redis.NewScript(holdLua), tell: redis.NewScript(tellLua),
		absent: redis.NewScript(absentLua), drain: redis.NewScript(drainLua),
	}
}

var (
	//go:embed scripts/sizes.lua
	sizesLua string
	//go:embed scripts/looks.lua
	looksLua string
	//go:embed scripts/list.lua
	listLua string
	//go:embed scripts/range.lua
	rangeLua string
	//go:embed scripts/get.lua
	getLua string
	//go:embed scripts/values.lua
	valuesLua string
	//go:embed scripts/rank.lua
	rankLua string
	//go:embed scripts/pause.lua
	pauseLua string
)

// readScripts are the scripts for operators and resolutions. All of them only read, except pause.
type readScripts struct{ sizes, list, ranks, get, values, rank, pause *redis.Script }

func newReadScripts() *readScripts {
	return &readScripts{
		sizes: newScript(sizesLua), list: newScript(orderLua + looksLua + listLua), ranks: newScript(orderLua + looksLua + rangeLua),
		get: newScript(getLua), values: newScript(valuesLua), rank: newScript(orderLua + rankLua), pause: newScript(pauseLua),
	}
}

// read calls a script that answers with texts, at the epoch in force, and returns that epoch. read waits for an epoch
// as keeper.Serve does.
func (q *Queue) read(ctx context.Context, l *queueLine, s *redis.Script, args ...any) (answer []string, epoch string, err error) {
	err = q.keeper.Serve(ctx, func(ctx context.Context, g *recovery.Generation) error {
		reply, err := l.run(ctx, s, l.all, append([]any{g.Epoch, l.now()}, args...)...)
		if err != nil {
			return q.lost(g, err)
		}
		answer, err = texts(reply)
		epoch = g.Epoch
		return err
	})
	return answer, epoch, err
}

// texts turns a script's reply into strings.
func texts(reply []any) ([]string, error) {
	out := make([]string, len(reply))
	for i, v := range reply {
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("%w: a %T instead of a text", errAnswer, v)
		}
		out[i] = s
	}
	return out, nil
}

// counts reads numbers that a script wrote as text.
func counts(texts []string) ([]int64, error) {
	out := make([]int64, len(texts))
	for i, s := range texts {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: %q instead of a number", errAnswer, s)
		}
		out[i] = n
	}
	return out, nil
}
