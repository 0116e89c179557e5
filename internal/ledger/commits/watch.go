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

// Work is a kind of work whose commits are followed. A kind has tables of its own: a disk without room for runs may still have room for read marks.
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

// works are the kinds in the order in which an operator wants to read of them.
var works = []Work{Runs, Deliveries, Sends, Marks, Items, Presence}

// The times of a Watch.
const (
	holdFor     = time.Minute     // how long a refusal is told after the ledger takes the work again
	tryEvery    = 5 * time.Second // how often a commit is tried while a refusal stands
	triesToStop = 2               // so many refused tries in a row: nothing can be committed
)

// Server is what a Watch asks of a ledger.
type Server interface {
	TryCommit(ctx context.Context) error
	Refusal(err error) (ledger.Refusal, bool)
}

// Options are those of a Watch.
type Options struct {
	Ledger  Server                            // says what an error means, and is tried
	Refused func(reason ledger.RefusalReason) // is called for each refusal; nil = nobody counts
	Logger  *slog.Logger
}

// Watch is how the commits of a node went. Its methods may be called from many goroutines.
type Watch struct {
	opts Options

	mu       sync.Mutex
	accounts map[Work]*account
	tries    int      // that were refused in a row
	blocked  *refusal // nothing can be committed since then; nil = something can
}

// account is how the commits of one kind of work went.
type account struct {
	committed time.Time // the last commit; zero = none yet
	open      bool      // The ledger has refused the work since the last commit.
	first     time.Time // of the refusals that are told
	count     int
	last      refusal // zero = there was none
}

// refusal is what the ledger said, and when.
type refusal struct {
	why ledger.Refusal
	at  time.Time
}

// New makes the watch of a node.
func New(opts Options) *Watch {
	if opts.Refused == nil {
		opts.Refused = func(ledger.RefusalReason) {}
	}
	return &Watch{opts: opts, accounts: map[Work]*account{}}
}

// refusalOf is why the ledger refused what failed with the error; false where it did not.
func (w *Watch) refusalOf(err error) (ledger.Refusal, bool) {
	if errors.Is(err, context.DeadlineExceeded) {
		return ledger.Refusal{Reason: ledger.RefusedTimeout}, true
	}
	if errors.Is(err, context.Canceled) {
		return ledger.Refusal{}, false
	}
	return w.opts.Ledger.Refusal(err)
}

// noteEnd notes how a commit ended.
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

// account is that of the work. The caller holds the lock.
func (w *Watch) account(work Work) *account {
	a := w.accounts[work]
	if a == nil {
		a = &account{}
		w.accounts[work] = a
	}
	return a
}

// noteFault notes a refusal, where the error is one.
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
	if !a.tells(now) {
		a.first, a.count = now, 0
	}
	a.open, a.last = true, refusal{why, now}
	a.count++
}

// tells is whether the refusals of the work are still told.
func (a *account) tells(now time.Time) bool { return a.open || now.Sub(a.last.at) < holdFor }

func (a *account) text(work Work) string {
	committed := "nothing was committed since the start"
	if !a.committed.IsZero() {
		committed = "the last commit was at " + stamp(a.committed)
	}
	return fmt.Sprintf("%s: %d refused since %s, the last at %s, %s: %s", work, a.count, stamp(a.first), stamp(a.last.at), committed, a.last.why)
}

// Run tries a commit every few seconds while a refusal stands, until the context ends.
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

// stands tells whether the last commit of some work was refused, or nothing can be committed.
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
	w.tries = 0
	return false
}

// try tries the smallest commit. A ledger that is out of reach leaves everything as it was.
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

// taken notes that the ledger has taken a commit that was tried. Work that nobody has tried again for a while is told no more.
func (w *Watch) taken() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.tries = 0
	if w.blocked != nil {
		w.opts.Logger.Info("the ledger takes commits again", "refused_for", now.Sub(w.blocked.at))
		w.blocked = nil
	}
	for _, a := range w.accounts {
		if now.Sub(a.last.at) >= holdFor {
			a.open = false
		}
	}
}

// refused notes that the ledger has refused a commit that was tried.
func (w *Watch) refused(why ledger.Refusal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tries++; w.tries < triesToStop {
		return
	}
	since := time.Now()
	if w.blocked == nil {
		w.opts.Logger.Error("nothing can be committed: the ledger refuses each commit; runs wait, clients are answered", "reason", why.String())
	} else {
		since = w.blocked.at
	}
	w.blocked = &refusal{why, since}
}

// Blocked is why nothing can be committed; nil while something can.
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

// Fault is what the ledger refuses, or has refused within the last minute; nil while all is well.
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
