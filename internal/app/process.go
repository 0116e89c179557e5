package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"

	"github.com/redis/go-redis/v9"
)

// spareHeap is the size of a block that the garbage collector counts as live heap. So the collector waits for the same
// amount of new memory before it runs. No page of the block is ever touched, so the block takes no memory.
const spareHeap = 64 << 20

// SpareHeap keeps the garbage collector from running too often while the live heap is small, until release is called.
// The collector then runs at a heap of 128 MB, or of more with a larger live heap. SpareHeap does nothing where the
// operator has set GOGC or GOMEMLIMIT. See docs/adr/heap.md.
func SpareHeap() (release func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	spare := make([]byte, spareHeap)
	return func() { runtime.KeepAlive(spare) }
}

// LogRedisTo sends the messages of the Redis client's pool to the log, at debug level. Otherwise they go to stderr. The
// inbox itself logs what a lost connection means. The setting is global in the process, so call LogRedisTo once, before
// New.
func LogRedisTo(log *slog.Logger) { redis.SetLogger(redisLog{log}) }

type redisLog struct{ log *slog.Logger }

// Printf logs one message.
func (r redisLog) Printf(ctx context.Context, format string, args ...any) {
	r.log.DebugContext(ctx, "The Redis client logged a message.", "says", fmt.Sprintf(format, args...))
}
