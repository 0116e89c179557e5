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

// rowsOr answers with the world's rows, or with the fault.
func rowsOr(w *world, fault *error) func(context.Context, scanners.Request) ([][]row.Value, error) {
	return func(context.Context, scanners.Request) ([][]row.Value, error) {
		if errors.Is(*fault, errPanic) {
			panic(errPanic)
		}
		return w.current(), *fault
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

// observer writes down what it hears.
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

func (o *observer) DeliveryDone(sink, outcome string, n int) { o.hear("%s %s %d", outcome, sink, n) }

func (o *observer) FiringLag(d time.Duration) { o.hear("lag %v", d) }
