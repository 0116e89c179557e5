package recovery

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Watch asks every new connection which server it leads to, before the connection is used. Its OnConnect must be in the
// options of the client.
type Watch struct {
	mu        sync.Mutex
	connected []func(runID string)
}

// NewWatch returns a Watch without listeners.
func NewWatch() *Watch { return &Watch{} }

// OnConnect is for redis.UniversalOptions.OnConnect.
func (w *Watch) OnConnect(ctx context.Context, conn *redis.Conn) error {
	server, err := askServer(ctx, conn)
	if err != nil || !server.primary {
		return err
	}
	w.mu.Lock()
	listeners := w.connected
	w.mu.Unlock()
	for _, f := range listeners {
		f(server.runID)
	}
	return nil
}

// listen makes f be called for every new connection to a primary. The run id is "" if the server does not tell it.
func (w *Watch) listen(f func(runID string)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.connected = append(slices.Clip(w.connected), f)
}

// serverInfo has the facts that a Redis server tells about itself.
type serverInfo struct {
	runID   string
	primary bool // neither a replica nor a Sentinel
}

type asker interface {
	Info(ctx context.Context, sections ...string) *redis.StringCmd
}

var (
	runIDLine   = regexp.MustCompile(`(?m)^run_id:(\w+)`)
	replicaLine = regexp.MustCompile(`(?m)^role:slave`)
)

// askServer asks for the run id, which changes with every start of the server process. A server that does not know
// INFO, or forbids it, counts as a primary without a run id.
func askServer(ctx context.Context, conn asker) (serverInfo, error) {
	info, err := conn.Info(ctx, "server").Result()
	if isRefused(err) {
		return serverInfo{primary: true}, nil
	}
	if err != nil {
		return serverInfo{}, err
	}
	if strings.Contains(info, "redis_mode:sentinel") {
		return serverInfo{}, nil
	}
	replication, err := conn.Info(ctx, "replication").Result()
	if err != nil {
		return serverInfo{}, err
	}
	s := serverInfo{primary: !replicaLine.MatchString(replication)}
	if m := runIDLine.FindStringSubmatch(info); m != nil {
		s.runID = m[1]
	}
	return s, nil
}

// isRefused tells whether the server does not know the command, or does not allow it.
func isRefused(err error) bool {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return false
	}
	text := reply.Error()
	return strings.HasPrefix(text, "NOPERM") || strings.Contains(text, "not supported") ||
		strings.Contains(text, "unknown command")
}
