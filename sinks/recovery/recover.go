package recovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/delivery"
)

var errBuilding = errors.New("another node writes the index back")

// ask returns the run ids of the Redis servers and the epoch that is written there.
func (k *Keeper) ask(ctx context.Context) (runIDs []string, epoch string, err error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	if runIDs, err = k.runIDs(ctx); err != nil {
		return nil, "", err
	}
	epoch, err = k.o.Client.HGet(ctx, k.o.EpochKey, "epoch").Result()
	if errors.Is(err, redis.Nil) {
		return runIDs, NoEpoch, nil
	}
	return runIDs, epoch, err
}

// live tells whether all servers of now are among those that the index was built on.
func live(built, now []string) bool {
	for _, id := range now {
		if !slices.Contains(built, id) {
			return false
		}
	}
	return true
}

// recover finds the generation to serve: that which the ledger names if Redis still holds it, else a new one.
func (k *Keeper) recover(ctx context.Context) error {
	runIDs, epoch, err := k.ask(ctx)
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	if err := k.Check(ctx); err != nil {
		return err
	}
	state, err := k.o.Ledger.IndexState(ctx, k.o.Sink)
	if err != nil && !errors.Is(err, delivery.ErrNotFound) {
		return fmt.Errorf("ledger: %w", err)
	}
	if epoch != state.Epoch || !live(state.RunIDs, runIDs) { // another node may have been done between the two answers
		if runIDs, epoch, err = k.ask(ctx); err != nil {
			return fmt.Errorf("redis: %w", err)
		}
	}
	var why string
	switch {
	case state.Epoch == "":
		why = "there was none"
	case state.Building && state.Node != k.o.Node && time.Now().Before(state.Lease):
		return fmt.Errorf("%w: %s, until %s at the latest", errBuilding, state.Node, state.Lease.UTC().Format(time.RFC3339))
	case state.Building:
		why = "a rebuild was not finished"
	case !live(state.RunIDs, runIDs):
		why = "Redis was restarted or replaced"
	case epoch != state.Epoch:
		why = "Redis is at epoch " + epoch
	default:
		if why, err = k.o.Contents.Missing(ctx, state.Epoch); err != nil {
			return err
		}
	}
	next := &Generation{Epoch: state.Epoch, runIDs: runIDs}
	if why != "" {
		k.salvage(ctx, state.Epoch)
		next.Epoch = k.nextEpoch(state.Epoch, epoch)
		if err := k.renew(ctx, state.Epoch, next, why); err != nil {
			return err
		}
	}
	if !k.generations.begin(next) {
		return errors.New("redis was replaced meanwhile")
	}
	k.log.Info("the index is served", "epoch", next.Epoch)
	return nil
}

// salvage lets the contents take what they can of the epoch that ends, for a while. What goes wrong there stops nothing.
func (k *Keeper) salvage(ctx context.Context, epoch string) {
	if k.o.Salvage == nil || epoch == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	if err := k.o.Salvage(ctx, epoch); err != nil {
		k.log.Warn("what Redis still has of the epoch that ends is not all used", "epoch", epoch, "error", err)
	}
}

// runIDs asks the server, or every primary of a cluster.
func (k *Keeper) runIDs(ctx context.Context) ([]string, error) {
	cluster, ok := k.o.Client.(*redis.ClusterClient)
	if !ok {
		s, err := askServer(ctx, k.o.Client)
		if err != nil {
			return nil, err
		}
		return withoutEmpty([]string{s.runID}), nil
	}
	var mu sync.Mutex
	var ids []string
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
		s, err := askServer(ctx, c)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		ids = append(ids, s.runID)
		return nil
	})
	slices.Sort(ids)
	return withoutEmpty(ids), err
}

func withoutEmpty(ids []string) []string {
	return slices.DeleteFunc(ids, func(s string) bool { return s == "" })
}
