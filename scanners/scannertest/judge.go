package scannertest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Outcome is how a check ended.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "ok"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped"
)

// Result is the outcome of one check.
type Result struct {
	Check   string
	Outcome Outcome
	Took    time.Duration
	Detail  string // what was wrong, or why the check was skipped
}

// Judge makes the checks that need no more than allowed, one after the other, and reports each result to tell. Judge
// always skips checks that need a server of the suite's own. If ctx ends, the remaining checks are skipped. Everything
// that checks have opened or created is closed and dropped in any case.
func Judge(ctx context.Context, d Dialect, allowed Need, tell func(Result)) {
	for _, c := range Checks() {
		r := Result{Check: c.Name, Outcome: Skipped}
		switch {
		case ctx.Err() != nil:
			r.Detail = "interrupted"
		case c.Needs == Own:
			r.Detail = "needs a server of the suite's own"
		case c.Needs > allowed:
			r.Detail = "needs --create-schema"
		default:
			r = judge(ctx, c, d)
		}
		tell(r)
	}
}

// Version asks the server for its version.
func Version(ctx context.Context, d Dialect) (version string, err error) {
	ask := func(t T, d Dialect) { version = One(t, d.New(t).Open(t, 1), d.Version, nil) } //nolint:contextcheck // a check has the context from its T
	r := judge(ctx, Check{Run: ask}, d)
	if r.Outcome != Passed {
		return "", fmt.Errorf("%s", r.Detail)
	}
	return version, nil
}

func judge(ctx context.Context, c Check, d Dialect) Result {
	r := &recorder{ctx: ctx, result: Result{Check: c.Name, Outcome: Passed}}
	start := time.Now()
	r.do(func() { c.Run(r, d) })
	for _, f := range slices.Backward(r.cleanups) {
		r.do(f)
	}
	r.result.Took = time.Since(start)
	if ctx.Err() != nil && r.result.Outcome == Failed {
		r.result.Detail = strings.TrimSpace("interrupted; " + r.result.Detail)
	}
	return r.result
}

// recorder is a T that stores what a check reports. A check may report from several goroutines.
type recorder struct {
	ctx      context.Context //nolint:containedctx // as a testing.T has it
	cleanups []func()

	mu     sync.Mutex
	result Result
}

// do runs a part of a check in a goroutine, because Fatal and Skip end the goroutine.
func (r *recorder) do(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				r.note(Failed, fmt.Sprintf("panic: %v", p))
			}
		}()
		f()
	}()
	<-done
}

func (r *recorder) note(outcome Outcome, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.result.Outcome != Failed {
		r.result.Outcome = outcome
	}
	if r.result.Detail != "" {
		r.result.Detail += "\n"
	}
	r.result.Detail += strings.Join(strings.Fields(text), " ")
}

func (r *recorder) Helper()                           {}
func (r *recorder) Context() context.Context          { return r.ctx }
func (r *recorder) Cleanup(f func())                  { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Error(args ...any)                 { r.note(Failed, fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) { r.note(Failed, fmt.Sprintf(format, args...)) }

func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Skip(args ...any) {
	r.note(Skipped, fmt.Sprint(args...))
	runtime.Goexit()
}
