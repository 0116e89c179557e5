package recovery

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"
)

// ErrEvicts says that the Redis server would throw keys away when its memory is full.
var ErrEvicts = errors.New("this Redis evicts keys when its memory is full: set maxmemory-policy to noeviction")

// Check refuses a server that would evict keys, before anything is served: the error is ErrEvicts, or that Redis is out of
// reach. It asks until it was told once; a managed Redis may not tell.
func (k *Keeper) Check(ctx context.Context) error {
	if k.policy.Load() {
		return nil
	}
	var err error
	if cluster, ok := k.o.Client.(*redis.ClusterClient); ok {
		var mu sync.Mutex
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			return k.askPolicy(ctx, c)
		})
	} else {
		err = k.askPolicy(ctx, k.o.Client)
	}
	if err == nil {
		k.policy.Store(true)
	}
	return err
}

type configGetter interface {
	asker
	ConfigGet(ctx context.Context, parameter string) *redis.MapStringStringCmd
}

func (k *Keeper) askPolicy(ctx context.Context, c configGetter) error {
	settings, err := c.ConfigGet(ctx, "maxmemory-policy").Result()
	if refused(err) {
		if s, err := askServer(ctx, c); err == nil && s.runID != "" { // not the in-process Redis, which evicts nothing
			k.log.Warn("Redis does not tell its maxmemory-policy; it must be noeviction")
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
