package inbox

import (
	"context"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Check asks Redis what a site must not leave to chance, before anything is served. The error is ErrEvicts, or
// that Redis is out of reach.
func (in *Inbox) Check(ctx context.Context) error { return in.checkPolicy(ctx) }

// checkPolicy refuses a server that would evict notices. It asks until it was told once; a managed Redis may not tell.
func (in *Inbox) checkPolicy(ctx context.Context) error {
	if in.policy.Load() {
		return nil
	}
	var err error
	if cluster, ok := in.o.Client.(*redis.ClusterClient); ok {
		var mu sync.Mutex
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			return in.askPolicy(ctx, c)
		})
	} else {
		err = in.askPolicy(ctx, in.o.Client)
	}
	if err == nil {
		in.policy.Store(true)
	}
	return err
}

type configGetter interface {
	asker
	ConfigGet(ctx context.Context, parameter string) *redis.MapStringStringCmd
}

func (in *Inbox) askPolicy(ctx context.Context, c configGetter) error {
	settings, err := c.ConfigGet(ctx, "maxmemory-policy").Result()
	if refused(err) {
		if s, err := askServer(ctx, c); err == nil && s.runID != "" { // not the in-process Redis, which evicts nothing
			in.log.Warn("Redis does not tell its maxmemory-policy; it must be noeviction")
		}
		return nil
	}
	if err != nil {
		return err
	}
	if policy := settings["maxmemory-policy"]; policy != "noeviction" && policy != "" {
		return fmt.Errorf("%w (it is %s)", ErrEvicts, policy)
	}
	return nil
}
