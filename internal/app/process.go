package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"

	"github.com/redis/go-redis/v9"
)

// spareHeap is what the collector takes for live, and so waits for as much again: no page of it is ever touched, and
// none is resident.
const spareHeap = 64 << 20

// SpareHeap keeps the garbage collector from running all the time while little is live, until release is called: it
// begins at 128 MB, or where twice what is live is more. Where GOGC or GOMEMLIMIT is set, the operator has decided. See
// docs/adr/heap.md.
func SpareHeap() (release func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	spare := make([]byte, spareHeap)
	return func() { runtime.KeepAlive(spare) }
}

// LogRedisTo sends the words of the Redis client's pool, which otherwise go to the process' error output, to the log.
// They are for debugging: what a connection's loss means is told by the inbox. The client has one such place for the
// whole process, so call it once, before New.
func LogRedisTo(log *slog.Logger) { redis.SetLogger(redisLog{log}) }

type redisLog struct{ log *slog.Logger }

// Printf takes one line.
func (r redisLog) Printf(ctx context.Context, format string, args ...any) {
	r.log.DebugContext(ctx, "redis client", "says", fmt.Sprintf(format, args...))
}
