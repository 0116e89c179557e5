package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/delivery"
)

var (
	errBuilding = errors.New("another node writes the index back")
	errAbsent   = errors.New("this node has no session in the ledger; it takes one as soon as the ledger answers")
)

// standing is the state of the index, as Redis shows it.
type standing struct {
	runIDs []string // run ids of the servers
	epoch  string   // NoEpoch if there is none
	mark   string   // mark of the ledger; "" means none
}

// ask reads the state of the index from Redis.
func (k *Keeper) ask(ctx context.Context) (found standing, err error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	if found.runIDs, err = k.runIDs(ctx); err != nil {
		return found, err
	}
	fields, err := k.o.Client.HMGet(ctx, k.o.EpochKey, "epoch", markField).Result()
	if err != nil {
		return found, err
	}
	var is bool
	if found.epoch, is = fields[0].(string); !is {
		found.epoch = NoEpoch
	}
	found.mark, _ = fields[1].(string)
	return found, nil
}

// isLive tells whether all present servers are among those that the index was built on.
func isLive(built, now []string) bool {
	for _, id := range now {
		if !slices.Contains(built, id) {
			return false
		}
	}
	return true
}

// recover finds the generation to serve: the ledger's generation if Redis still holds it, else a new one.
func (k *Keeper) recover(ctx context.Context) error {
	incarnation := k.incarnation() // read first: if the ledger is replaced in between, Redis is compared again
	found, state, err := k.both(ctx)
	if err != nil {
		return err
	}
	if err := k.Check(ctx); err != nil {
		return err
	}
	if state.Building && !k.o.Session.Holds(state.Node) && time.Now().Before(state.Lease) {
		return fmt.Errorf("%w: %s, until %s at the latest", errBuilding, delivery.NodeName(state.Node), state.Lease.UTC().Format(time.RFC3339))
	}
	restored, err := k.ahead(ctx, found)
	if err != nil {
		return err
	}
	why, err := k.wrong(ctx, state, found, restored)
	if err != nil {
		return err
	}
	next := &Generation{Epoch: state.Epoch, runIDs: found.runIDs}
	next.compared.Store(incarnation)
	if why != "" {
		if restored == "" { // otherwise the outbox belongs to another ledger
			k.salvage(ctx, state.Epoch)
		}
		next.Epoch = k.nextEpoch(state.Epoch, found.epoch)
		if err := k.renew(ctx, state.Epoch, next, why, found, restored); err != nil {
			return err
		}
	}
	if !k.generations.begin(next) {
		return errors.New("redis was replaced meanwhile")
	}
	k.log.Info("The index is served.", "epoch", next.Epoch)
	return nil
}

// both reads the state of the index from Redis and from the ledger. A ledger without a state gives the zero value.
func (k *Keeper) both(ctx context.Context) (found standing, state delivery.IndexState, err error) {
	if found, err = k.ask(ctx); err != nil {
		return found, state, fmt.Errorf("redis: %w", err)
	}
	state, err = k.o.Ledger.IndexState(ctx, k.o.Sink)
	if err != nil && !errors.Is(err, delivery.ErrNotFound) {
		return found, state, fmt.Errorf("ledger: %w", err)
	}
	// another node may have finished a rebuild between the two answers
	if found.epoch != state.Epoch || !isLive(state.RunIDs, found.runIDs) {
		if found, err = k.ask(ctx); err != nil {
			return found, state, fmt.Errorf("redis: %w", err)
		}
	}
	return found, state, nil
}

// Outlook says what a node does with the index when the node starts.
type Outlook struct {
	Epoch    string // Of the ledger; "" means that no node has served the index yet.
	Restored string // What Redis remembers and the ledger does not know; "" means nothing.
	// Rebuilt is why the node begins a new epoch and writes the index back from the ledger; "" means that the node
	// serves the index as it is.
	Rebuilt string
}

// Outlook compares Redis with the ledger as a starting node does. It changes nothing in Redis or in the ledger.
func (k *Keeper) Outlook(ctx context.Context) (o Outlook, err error) {
	found, state, err := k.both(ctx)
	if err != nil {
		return o, err
	}
	o.Epoch = state.Epoch
	if o.Restored, err = k.ahead(ctx, found); err != nil {
		return o, err
	}
	o.Rebuilt, err = k.wrong(ctx, state, found, o.Restored)
	return o, err
}

// wrong returns why Redis does not hold the generation that the ledger names, or "" if it does.
func (k *Keeper) wrong(ctx context.Context, state delivery.IndexState, found standing, restored string) (string, error) {
	switch {
	case restored != "":
		return restored, nil
	case state.Epoch == "":
		return "there was no epoch", nil
	case state.Building:
		return "a rebuild was not finished", nil
	case !isLive(state.RunIDs, found.runIDs):
		return "Redis was restarted or replaced", nil
	case found.epoch != state.Epoch:
		return "Redis is at epoch " + found.epoch, nil
	default:
		return k.o.Contents.Missing(ctx, state.Epoch)
	}
}

// salvage lets the contents save what they can of the epoch that ends, within CallTimeout. An error does not stop the
// recovery.
func (k *Keeper) salvage(ctx context.Context, epoch string) {
	if k.o.Salvage == nil || epoch == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	if err := k.o.Salvage(ctx, epoch); err != nil {
		k.log.Warn("Redis still had data of the epoch that ends, and not all of it was saved.", "epoch", epoch, "error", err)
	}
}

// runIDs returns the run ids of the server, or of every primary of a cluster.
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

// renew begins the next epoch and has the index written back. The ledger lets only one node do so at a time.
func (k *Keeper) renew(ctx context.Context, prev string, next *Generation, why string, found standing, restored string) error {
	began := time.Now()
	session, lapsed := k.o.Session.Hold()
	if session == "" {
		return errAbsent
	}
	state := delivery.IndexState{Epoch: next.Epoch, RunIDs: next.runIDs, Building: true, Node: session}
	err := k.o.Ledger.BeginEpoch(ctx, k.o.Sink, prev, state, session, buildLease)
	if errors.Is(err, delivery.ErrFenced) {
		return errBuilding
	}
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	level := slog.LevelWarn
	if prev == "" {
		level = slog.LevelInfo // this is the first epoch
	}
	k.log.Log(ctx, level, "The index is being written back from the ledger.", "epoch", next.Epoch, "cause", why)

	building, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	held := make(chan struct{})
	go func() {
		defer close(held)
		k.hold(building, lapsed, stop, state)
	}()
	if restored != "" {
		err = k.keepAll(building, found, restored)
	}
	count := 0
	if err == nil {
		count, err = k.rebuild(building, next.Epoch)
	}
	stop(nil)
	<-held
	if err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	if !k.o.Session.Holds(session) {
		return errAbsent
	}
	if err := k.o.Ledger.FinishEpoch(ctx, k.o.Sink, next.Epoch); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	k.log.Info("The index was written back.", "epoch", next.Epoch, "count", count, "took", time.Since(began))
	if k.o.Channel == "" {
		return nil
	}
	// Without this message, other nodes would notice within a second.
	return k.o.Client.Publish(ctx, k.o.Channel, "").Err()
}

// hold renews the lease of the rebuild until the context ends. If the lease is lost, hold ends the rebuild.
func (k *Keeper) hold(ctx context.Context, lapsed <-chan struct{}, stop context.CancelCauseFunc, state delivery.IndexState) {
	tick := time.NewTicker(buildLease / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-lapsed:
			stop(errAbsent)
			return
		case <-ctx.Done():
			return
		}
		if err := k.o.Ledger.BeginEpoch(ctx, k.o.Sink, state.Epoch, state, state.Node, buildLease); err != nil {
			stop(fmt.Errorf("the right to rebuild: %w", err))
			return
		}
	}
}

// rebuild has the contents written back, and then writes the epoch. If a newer epoch was met, its number is remembered,
// so that the next epoch is above it.
func (k *Keeper) rebuild(ctx context.Context, epoch string) (int, error) {
	count, err := k.o.Contents.Rebuild(ctx, epoch)
	if newer, ok := errors.AsType[*EpochError](err); ok {
		k.newest.Store(max(k.newest.Load(), EpochNumber(newer.Found)))
	}
	if err != nil {
		return count, err
	}
	fields := []any{"epoch", epoch}
	if k.o.Lineage != nil && k.o.Lineage.Mark() != "" {
		fields = append(fields, markField, k.o.Lineage.Mark())
	}
	return count, k.o.Client.HSet(ctx, k.o.EpochKey, fields...).Err()
}
