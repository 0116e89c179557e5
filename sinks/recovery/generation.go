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

// Generation is one epoch of the index, as this node serves it.
type Generation struct {
	Epoch  string
	runIDs []string // run ids of the Redis servers that hold the epoch; empty if the servers do not tell them

	isWrittenBack bool // a rebuild writes this epoch back; the epoch begins when the rebuild is done

	compared atomic.Int64 // the incarnation of the ledger that Redis was last compared with
}

// WrittenBack returns the generation that Contents.Rebuild writes. This generation is not in force yet.
func WrittenBack(epoch string) *Generation { return &Generation{Epoch: epoch, isWrittenBack: true} }

// on tells whether the server holds the generation.
func (g *Generation) on(runID string) bool {
	return runID == "" || len(g.runIDs) == 0 || slices.Contains(g.runIDs, runID)
}

var errStarting = errors.New("not checked yet")

// generations holds the generation that this node serves, and lets callers wait for one.
type generations struct {
	mu      sync.Mutex
	gen     *Generation // nil while no generation can be trusted
	cause   error       // why there is no generation
	changed chan struct{}
	since   map[string]bool // run ids of the servers to which connections were made while there was no generation
}

func newGenerations() *generations {
	return &generations{cause: errStarting, changed: make(chan struct{}), since: map[string]bool{}}
}

// get returns the generation and a channel that is closed at the next change. If there is no generation, it returns the
// reason.
func (s *generations) get() (*Generation, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gen, s.changed, s.cause
}

// is tells whether g is still in force.
func (s *generations) is(g *Generation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gen == g
}

// begin puts g in force. begin returns false if a connection was made in between to a server that does not hold g.
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

// lose ends g if it is still in force, and returns whether it was.
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

// fail records why there is still no generation. With a nil cause, fail changes nothing. A look that has just ended a
// generation returns nil, and lose has stored the cause already.
func (s *generations) fail(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gen == nil && cause != nil {
		s.cause = cause
	}
}

// connected is called for every new connection, before the connection is used. connected returns true if that ended the
// generation.
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

// NoEpoch stands for the epoch if Redis has none.
const NoEpoch = "none"

// EpochError says that something in Redis is in another epoch than the caller assumed.
type EpochError struct{ Found string }

func (e *EpochError) Error() string { return "the index is at epoch " + e.Found }

// Known turns an error reply of a script that begins with EPOCH into an EpochError.
func Known(err error) error {
	if err == nil {
		return nil
	}
	if found, ok := strings.CutPrefix(err.Error(), "EPOCH "); ok {
		return &EpochError{Found: found}
	}
	return err
}

// nextEpoch returns <number>-<random>. The number is above the numbers of all epochs that were seen. The random part
// distinguishes the epochs of two nodes that chose the same number.
func (k *Keeper) nextEpoch(seen ...string) string {
	n := k.newest.Load()
	for _, epoch := range seen {
		n = max(n, EpochNumber(epoch))
	}
	var b [5]byte
	_, _ = rand.Read(b[:]) // never fails
	return strconv.FormatInt(n+1, 10) + "-" + strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// EpochNumber returns the number of an epoch. The newer epoch has the higher number. For any other text it returns 0.
func EpochNumber(epoch string) int64 {
	number, _, _ := strings.Cut(epoch, "-")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// ErrLost says that the generation ended during an operation. The operation may be tried again in the next generation.
var ErrLost = errors.New("index: the epoch is over")

// Serve calls f with the generation in force. Serve repeats until f succeeds in a generation that is still in force
// afterwards, for at most CallTimeout. Then it returns Options.Unavailable. f returns ErrLost if it finds that the
// generation has ended.
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

// Await returns the generation in force. Await waits for one until the deadline, and then returns Options.Unavailable.
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
