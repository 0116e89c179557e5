package inbox

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/sinks"
)

// ErrEvicts says that the Redis server would throw notices away when its memory is full.
var ErrEvicts = errors.New("inbox: Redis evicts keys when its memory is full: set maxmemory-policy to noeviction")

var errBuilding = errors.New("another node writes the index back")

// keep looks once a second, and whenever something seems wrong, whether Redis is still what it was.
func (in *Inbox) keep(ctx context.Context) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	last := ""
	for {
		err := in.look(ctx)
		if ctx.Err() != nil {
			return
		}
		in.generations.fail(err)
		if text := fmt.Sprint(err); err != nil && text != last {
			in.log.Warn("the inbox is not served", "cause", err)
			last = text
		} else if err == nil {
			last = ""
		}
		wait := tick.C
		if err != nil {
			wait = time.After(2 * retryPause)
		}
		select {
		case <-in.kick:
		case <-wait:
		case <-ctx.Done():
			return
		}
	}
}

// look checks the generation in force, or finds one.
func (in *Inbox) look(ctx context.Context) error {
	g, _, _ := in.generations.get()
	if g == nil {
		return in.recover(ctx)
	}
	runIDs, epoch, err := in.ask(ctx)
	if err != nil {
		in.reach.Store(&err)
		return err
	}
	in.reach.Store(nil)
	switch {
	case !live(g.runIDs, runIDs):
		in.lose(g, errors.New("the Redis server was restarted or replaced"))
	case epoch != g.epoch:
		in.lose(g, &epochError{found: epoch})
	}
	return nil
}

// ask returns the run ids of the Redis servers and the epoch that is written there.
func (in *Inbox) ask(ctx context.Context) (runIDs []string, epoch string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if runIDs, err = in.runIDs(ctx); err != nil {
		return nil, "", err
	}
	epoch, err = in.o.Client.HGet(ctx, in.keys.epoch(), "epoch").Result()
	if errors.Is(err, redis.Nil) {
		return runIDs, noEpoch, nil
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
func (in *Inbox) recover(ctx context.Context) error {
	runIDs, epoch, err := in.ask(ctx)
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	if err := in.checkPolicy(ctx); err != nil {
		return err
	}
	state, err := in.o.Ledger.IndexState(ctx, in.o.Sink)
	if err != nil && !errors.Is(err, sinks.ErrNotFound) {
		return fmt.Errorf("ledger: %w", err)
	}
	highest, err := in.o.Ledger.HighestScores(ctx, in.o.Sink)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	var why string
	switch {
	case state.Epoch == "":
		why = "there was none"
	case state.Building && state.Node != in.o.Node && time.Now().Before(state.Lease):
		return fmt.Errorf("%w: %s, until %s at the latest", errBuilding, state.Node, state.Lease.UTC().Format(time.RFC3339))
	case state.Building:
		why = "a rebuild was not finished"
	case !live(state.RunIDs, runIDs):
		why = "Redis was restarted or replaced"
	case epoch != state.Epoch:
		why = "Redis is at epoch " + epoch
	default:
		if why, err = in.missing(ctx, state.Epoch, highest); err != nil {
			return fmt.Errorf("redis: %w", err)
		}
	}
	next := &generation{epoch: state.Epoch, runIDs: runIDs}
	if why != "" {
		next.epoch = in.nextEpoch(state.Epoch, epoch)
		if err := in.renew(ctx, state.Epoch, next, highest, why); err != nil {
			return err
		}
	}
	in.knowOnly(highest)
	if !in.generations.begin(next) {
		return errors.New("redis was replaced meanwhile")
	}
	in.log.Info("the inbox is served", "epoch", next.epoch)
	return nil
}

// missing compares Redis with what the ledger has recorded, and says what is wrong.
func (in *Inbox) missing(ctx context.Context, epoch string, highest map[string]int64) (string, error) {
	warehouses := slices.Collect(maps.Keys(highest))
	clocks, err := in.askClocks(ctx, warehouses)
	if err != nil {
		return "", err
	}
	for i, warehouse := range warehouses {
		switch c := clocks[i]; {
		case c.epoch != epoch:
			return "warehouse " + warehouse + " is at epoch " + c.epoch, nil
		case c.clock < highest[warehouse]:
			return "the clock of warehouse " + warehouse + " has gone back", nil
		}
	}
	return "", nil
}

// nextEpoch is <number>-<random>: the number is above all that were seen, the rest tells apart nodes that count alike.
func (in *Inbox) nextEpoch(seen ...string) string {
	n := in.newest.Load()
	for _, epoch := range seen {
		n = max(n, epochNumber(epoch))
	}
	var b [5]byte
	_, _ = rand.Read(b[:]) // never fails
	return strconv.FormatInt(n+1, 10) + "-" + strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// epochNumber is 0 for what is no epoch.
func epochNumber(epoch string) int64 {
	number, _, _ := strings.Cut(epoch, "-")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// runIDs asks the server, or every primary of a cluster.
func (in *Inbox) runIDs(ctx context.Context) ([]string, error) {
	cluster, ok := in.o.Client.(*redis.ClusterClient)
	if !ok {
		s, err := askServer(ctx, in.o.Client)
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
