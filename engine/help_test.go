package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/internal/ledger"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// errPanic makes rowsOr panic.
var errPanic = errors.New("at row 1")

// cell is a variable that a test and the engine share.
type cell[T any] struct {
	mu sync.Mutex
	v  T
}

func (c *cell[T]) set(v T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.v = v
}

func (c *cell[T]) get() T {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.v
}

// rowsOr answers with the world's rows, or with the fault.
func rowsOr(w *world, fault *cell[error]) func(context.Context, scanners.Request) ([][]row.Value, error) {
	return func(context.Context, scanners.Request) ([][]row.Value, error) {
		if errors.Is(fault.get(), errPanic) {
			panic(errPanic)
		}
		return w.current(), fault.get()
	}
}

func status(t *testing.T, n node) engine.RuleStatus {
	t.Helper()
	list, err := n.Status(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("Status: %v, %v", list, err)
	}
	return list[0]
}

// observer records its calls.
type observer struct {
	mu    sync.Mutex
	heard []string
}

func (o *observer) hear(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.heard = append(o.heard, fmt.Sprintf(format, args...))
}

func (o *observer) list() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.heard)
}

func (o *observer) RunDone(run ledger.Run) {
	o.hear("run %s %d notices %d unsubscribed", run.Outcome, run.Notices, run.Unsubscribed)
}

func (o *observer) NoticeMade(noticeType, status string) { o.hear("notice %s %s", noticeType, status) }

func (o *observer) DeliveryTook(string, time.Duration) {}

func (o *observer) DeliveryDone(sink, outcome string, n int) { o.hear("%s %s %d", outcome, sink, n) }

func (o *observer) FiringLag(d time.Duration) { o.hear("lag %v", d) }
