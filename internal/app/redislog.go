package app

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// LogRedisTo sends the words of the Redis client's pool, which otherwise go to the process' error output, to the log.
// They are for debugging: what a connection's loss means is told by the inbox. The client has one such place for the whole
// process, so call it once, before New.
func LogRedisTo(log *slog.Logger) { redis.SetLogger(redisLog{log}) }

type redisLog struct{ log *slog.Logger }

// Printf takes one line.
func (r redisLog) Printf(ctx context.Context, format string, args ...any) {
	r.log.DebugContext(ctx, "redis client", "says", fmt.Sprintf(format, args...))
}
