package queue

import (
	_ "embed" // the scripts

	"github.com/redis/go-redis/v9"
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

// newScript puts what the scripts share before the text of one.
func newScript(text string) *redis.Script { return redis.NewScript(commonLua + text) }
