package queue

import (
	_ "embed" // the scripts

	"github.com/redis/go-redis/v9"
)

// The scripts of a line's life stand alone: they need nothing of common.lua.
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
