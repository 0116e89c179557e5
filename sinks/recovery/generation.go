package recovery

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Generation is one life of the index.
type Generation struct {
	Epoch  string
	runIDs []string // of the Redis servers it lives on; empty where they do not tell

	isWrittenBack bool // it begins when that is done

	compared atomic.Int64 // the incarnation of the ledger that Redis was compared with
}

// WrittenBack is the generation that Contents.Rebuild makes. It is in force nowhere yet.
func WrittenBack(epoch string) *Generation { return &Generation{Epoch: epoch, isWrittenBack: true} }

// on tells whether the generation lives on the server.
func (g *Generation) on(runID string) bool {
	return runID == "" || len(g.runIDs) == 0 || slices.Contains(g.runIDs, runID)
}

var errStarting = errors.New("not checked yet")

// generations holds the generation that this node serves, and lets others wait for one.
type generations struct {
	mu      sync.Mutex
	gen     *Generation // nil while there is none to be trusted
	cause   error       // why there is none
	changed chan struct{}
	since   map[string]bool // servers that connections were made to while there was none
}

func newGenerations() *generations {
	return &generations{cause: errStarting, changed: make(chan struct{}), since: map[string]bool{}}
}

// get returns the generation, a channel that is closed at the next change, and while there is none why.
func (s *generations) get() (*Generation, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gen, s.changed, s.cause
}

// is tells whether g is still the one.
func (s *generations) is(g *Generation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gen == g
}

// begin puts g in force, unless a connection was made meanwhile to a server that g does not live on.
func (s *generations) begin(g *Generation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for runID := range s.since {
		if !g.on(runID) {
			clear(s.since)
			return false
		}
	}
	s.gen, s.cause = g, nil
	s.wake()
	return true
}

// lose ends g, if it is still the one. It reports whether it was.
func (s *generations) lose(g *Generation, cause error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g == nil || s.gen != g {
		return false
	}
	s.gen, s.cause = nil, cause
	clear(s.since)
	s.wake()
	return true
}

// fail records why there is still no generation. A check that went well says nothing: it may just have ended one.
func (s *generations) fail(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gen == nil && cause != nil {
		s.cause = cause
	}
}

// connected is told of every new connection, before it is used. It reports whether that ended the generation.
func (s *generations) connected(runID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gen == nil {
		s.since[runID] = true
		return false
	}
	if s.gen.on(runID) {
		return false
	}
	s.gen, s.cause = nil, fmt.Errorf("connected to another server, run id %s", runID)
	clear(s.since)
	s.since[runID] = true
	s.wake()
	return true
}

func (s *generations) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// NoEpoch is what is found where Redis names no epoch.
const NoEpoch = "none"

// EpochError says that something in Redis is not in the epoch that the caller believes in.
type EpochError struct{ Found string }

func (e *EpochError) Error() string { return "the index is at epoch " + e.Found }

// Known gives the error of a script its type: one that begins with EPOCH, as the scripts' headers say, is an EpochError.
func Known(err error) error {
	if err == nil {
		return nil
	}
	if found, ok := strings.CutPrefix(err.Error(), "EPOCH "); ok {
		return &EpochError{Found: found}
	}
	return err
}

// nextEpoch is <number>-<random>: the number is above all that were seen, the rest tells apart nodes that count alike.
func (k *Keeper) nextEpoch(seen ...string) string {
	n := k.newest.Load()
	for _, epoch := range seen {
		n = max(n, EpochNumber(epoch))
	}
	var b [5]byte
	_, _ = rand.Read(b[:]) // never fails
	return strconv.FormatInt(n+1, 10) + "-" + strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// EpochNumber tells which of two epochs is the newer one. It is 0 for what is no epoch.
func EpochNumber(epoch string) int64 {
	number, _, _ := strings.Cut(epoch, "-")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// ErrLost says that the generation ended under an operation, which may be tried again in the next.
var ErrLost = errors.New("index: the epoch is over")

// Serve calls f with the generation in force until it succeeds in one that lasted, for CallTimeout at most; then the
// error is Options.Unavailable. f answers ErrLost where it found out itself.
func (k *Keeper) Serve(ctx context.Context, f func(context.Context, *Generation) error) error {
	deadline := time.Now().Add(CallTimeout)
	inner, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	for {
		g, err := k.Await(ctx, deadline)
		if err != nil {
			return err
		}
		if err = f(inner, g); err == nil && k.Is(g) {
			return nil
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil || errors.Is(err, ErrLost):
			continue
		}
		pause := time.NewTimer(retryPause)
		select {
		case <-inner.Done():
			pause.Stop()
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("%w: %w", k.o.Unavailable, err)
		case <-pause.C:
		}
	}
}

// Await returns the generation in force, waiting for one until the deadline; then the error is Options.Unavailable.
func (k *Keeper) Await(ctx context.Context, deadline time.Time) (*Generation, error) {
	g, changed, cause := k.generations.get()
	if g != nil {
		return g, nil
	}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	for g == nil {
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
			return nil, fmt.Errorf("%w: %w", k.o.Unavailable, cause)
		}
		g, changed, cause = k.generations.get()
	}
	return g, nil
}
