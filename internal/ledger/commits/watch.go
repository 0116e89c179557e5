package commits

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"tallyman/internal/ledger"
)

// Work is a kind of work whose commits are watched. The kinds write to different tables, so a disk without room for
// runs may still have room for read marks.
type Work string

// The kinds of work.
const (
	Runs       Work = "runs"
	Deliveries Work = "deliveries"
	Sends      Work = "sends"
	Marks      Work = "marks"
	Items      Work = "items"
	Presence   Work = "presence"
)

// works has the kinds in the order in which Fault reports them.
var works = []Work{Runs, Deliveries, Sends, Marks, Items, Presence}

// The times of a Watch.
const (
	holdFor     = time.Minute     // how long Fault reports the last refusal, even if the ledger takes the work again
	tryEvery    = 5 * time.Second // interval of tries while a refusal stands
	triesToStop = 2               // number of refused tries in a row after which the node is blocked
)

// Server is the part of the ledger that a Watch calls.
type Server interface {
	TryCommit(ctx context.Context) error
	Refusal(err error) (ledger.Refusal, bool)
}

// Options configure a Watch.
type Options struct {
	Ledger  Server                            // classifies errors, and takes the tries
	Refused func(reason ledger.RefusalReason) // called for each refusal; nil = not counted
	Logger  *slog.Logger
}

// Watch keeps how the commits of a node ended. Watch is safe for concurrent use.
type Watch struct {
	opts Options

	mu       sync.Mutex
	accounts map[Work]*account
	tries    int      // number of refused tries in a row
	blocked  *refusal // since when, and why, the node can commit nothing; nil = it is not blocked
}

// account keeps how the commits of one kind of work ended.
type account struct {
	committed time.Time // time of the last commit; zero = none yet
	open      bool      // The ledger has refused the work since the last commit.
	first     time.Time // time of the first refusal that Fault reports
	count     int
	last      refusal // zero = none
}

// refusal is an answer of the ledger, and its time.
type refusal struct {
	why ledger.Refusal
	at  time.Time
}

// New makes the Watch of a node.
func New(opts Options) *Watch {
	if opts.Refused == nil {
		opts.Refused = func(ledger.RefusalReason) {}
	}
	return &Watch{opts: opts, accounts: map[Work]*account{}}
}

// refusalOf returns why the ledger refused the write that failed with err; false where it refused nothing.
func (w *Watch) refusalOf(err error) (ledger.Refusal, bool) {
	if errors.Is(err, context.DeadlineExceeded) {
		return ledger.Refusal{Reason: ledger.RefusedTimeout}, true
	}
	if errors.Is(err, context.Canceled) {
		return ledger.Refusal{}, false
	}
	return w.opts.Ledger.Refusal(err)
}

// noteEnd records how a commit ended.
func (w *Watch) noteEnd(work Work, err error) {
	if err != nil {
		w.noteFault(work, err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.account(work)
	a.committed, a.open = time.Now(), false
}

// account returns the account of the work. The caller holds the lock.
func (w *Watch) account(work Work) *account {
	a := w.accounts[work]
	if a == nil {
		a = &account{}
		w.accounts[work] = a
	}
	return a
}

// noteFault records a refusal, if the error is one.
func (w *Watch) noteFault(work Work, err error) {
	if err == nil {
		return
	}
	why, refused := w.refusalOf(err)
	if !refused {
		return
	}
	w.opts.Refused(why.Reason)
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	a := w.account(work)
	// A new series of refusals begins.
	if !a.tells(now) {
		a.first, a.count = now, 0
	}
	a.open, a.last = true, refusal{why, now}
	a.count++
}

// tells reports whether Fault still reports the refusals of the work.
func (a *account) tells(now time.Time) bool { return a.open || now.Sub(a.last.at) < holdFor }

func (a *account) text(work Work) string {
	committed := "nothing was committed since the start"
	if !a.committed.IsZero() {
		committed = "the last commit was at " + stamp(a.committed)
	}
	return fmt.Sprintf("%s: commits refused since %s: %d; last refusal at %s; %s; reason: %s", work, stamp(a.first), a.count, stamp(a.last.at), committed, a.last.why)
}

// Run tries a commit every few seconds while a refusal stands. Run returns when the context ends.
func (w *Watch) Run(ctx context.Context) {
	tick := time.NewTicker(tryEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if w.stands() {
				w.try(ctx)
			}
		}
	}
}

// stands tells whether the last commit of some work was refused, or the node is blocked.
func (w *Watch) stands() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.blocked != nil {
		return true
	}
	for _, a := range w.accounts {
		if a.open {
			return true
		}
	}
	// Tries in a row count only within one series of refusals.
	w.tries = 0
	return false
}

// try tries the smallest commit. If the ledger is out of reach, nothing changes.
func (w *Watch) try(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, tryEvery)
	defer cancel()
	err := w.opts.Ledger.TryCommit(bounded)
	if err == nil {
		w.taken()
		return
	}
	if why, refused := w.refusalOf(err); refused && ctx.Err() == nil {
		w.refused(why)
	}
}

// taken records that the ledger took a tried commit. taken closes refusals older than holdFor, because nobody has
// tried that kind of work since.
func (w *Watch) taken() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.tries = 0
	if w.blocked != nil {
		w.opts.Logger.Info("Ledger takes commits again. All work continues.", "refused_for", now.Sub(w.blocked.at))
		w.blocked = nil
	}
	for _, a := range w.accounts {
		if now.Sub(a.last.at) >= holdFor {
			a.open = false
		}
	}
}

// refused records that the ledger refused a tried commit.
func (w *Watch) refused(why ledger.Refusal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tries++; w.tries < triesToStop {
		return
	}
	since := time.Now()
	if w.blocked == nil {
		w.opts.Logger.Error("Ledger takes no commit: runs wait and clients get errors. The node tries a commit every 5 s.", "reason", why.String())
	} else {
		since = w.blocked.at
	}
	w.blocked = &refusal{why, since}
}

// Blocked returns why the node can commit nothing; nil = it is not blocked.
func (w *Watch) Blocked() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.blocked == nil {
		return nil
	}
	return errors.New(w.blocked.text())
}

func (r *refusal) text() string {
	return "nothing can be committed since " + stamp(r.at) + ": " + r.why.String()
}

// Fault returns what the ledger refuses, or has refused within the last minute; nil = nothing.
func (w *Watch) Fault() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	var said []string
	if w.blocked != nil {
		said = append(said, w.blocked.text())
	}
	for _, work := range works {
		if a := w.accounts[work]; a != nil && a.tells(now) {
			said = append(said, a.text(work))
		}
	}
	if len(said) == 0 {
		return nil
	}
	return errors.New(strings.Join(said, "; "))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
