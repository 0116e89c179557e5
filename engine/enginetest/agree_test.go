package enginetest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/engine/enginetest"
	"tallyman/internal/delivery"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/sqlite"
	"tallyman/internal/notice"
	"tallyman/rules/catalog"
)

var (
	start  = time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
	typ    = catalog.Type{Code: "REP_NOTICE", ID: 124719, Name: "Replenish", Retention: time.Hour}
	keeper = ledger.Subscription{Type: typ.Code, Warehouse: "W1", Subscriber: "role:keeper"}
	inbox  = delivery.Lane{Sink: "inbox", Warehouse: "W1"}
	author = ledger.Author{By: "test", Via: ledger.ViaFile}
)

// pair is the ledger in memory and one of SQLite, which are asked the same.
type pair struct {
	t              *testing.T
	memory, sqlite engine.Ledger
	random         *rand.Rand
	open           map[string]bool // keys of findings
	due            int
	notices        int
}

func newPair(t *testing.T, seed uint64) *pair {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	if _, err := sqlite.Migrate(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	l, err := sqlite.Open(t.Context(), path, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if _, err := l.SeedTypes(t.Context(), author, catalog.Catalog{typ.Code: typ}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.SeedSubscriptions(t.Context(), author, []ledger.Subscription{keeper}); err != nil {
		t.Fatal(err)
	}
	return &pair{
		t: t, memory: enginetest.NewLedger(typ), sqlite: l, random: rand.New(rand.NewPCG(seed, 0)), open: map[string]bool{},
	}
}

// same asks both ledgers and compares their answers, or what kind of error they give.
func (p *pair) same(what string, question func(ctx context.Context, l engine.Ledger) (string, error)) {
	p.t.Helper()
	kind := func(err error) string {
		for _, known := range []error{ledger.ErrNotFound, ledger.ErrDone, ledger.ErrBusy, ledger.ErrFenced} {
			if errors.Is(err, known) {
				return known.Error()
			}
		}
		return fmt.Sprint("error: ", err != nil)
	}
	got, err := question(p.t.Context(), p.memory)
	want, wantErr := question(p.t.Context(), p.sqlite)
	if kind(err) != kind(wantErr) || err == nil && got != want {
		p.t.Fatalf("%s: in memory %q, %v; in SQLite %q, %v", what, got, err, want, wantErr)
	}
}

func (p *pair) dueAt(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }

// firing claims the next firing, or one that is over, and commits, gives back or leaves it.
func (p *pair) firing() {
	due := p.dueAt(p.due + p.random.IntN(3) - 1)
	end := p.random.IntN(5)
	key := fmt.Sprintf(`["%c"]`, 'a'+rune(p.random.IntN(4)))
	op, wrong := ledger.Insert, p.random.IntN(8) == 0
	if p.open[key] != wrong {
		op = ledger.Delete
	}
	p.notices++
	var committed bool
	p.same("a firing", func(ctx context.Context, l engine.Ledger) (string, error) {
		c, err := l.Claim(ctx, "r", "s", 0, due, "a", time.Hour)
		if err != nil {
			return "", err
		}
		text := fmt.Sprint(c.Due.Sub(start), c.Repeated, c.Node)
		_, busy := l.Claim(ctx, "r", "s", 0, due.Add(time.Minute), "b", time.Hour)
		text += fmt.Sprint(errors.Is(busy, ledger.ErrBusy), l.Renew(ctx, c, time.Hour))
		if end == 0 {
			err := l.Release(ctx, c)
			fenced := l.Renew(ctx, c, time.Hour)
			return text + fmt.Sprint(errors.Is(fenced, ledger.ErrFenced)), err
		}
		state := finding.State{Key: key, Phase: finding.Firing, Episode: start, FiringSince: start, Priority: 3, LastNotified: start, Ordinal: 1}
		got, err := l.Commit(ctx, c, &ledger.Commit{
			Run:      ledger.Run{Rule: "r", Scope: "s", Due: c.Due, Node: "a", Started: start, Outcome: ledger.OutcomeOK, Rows: 1},
			Findings: []ledger.FindingChange{{State: state, Op: op}},
			Notices:  []ledger.NewNotice{{Notice: p.notice(), Sinks: []ledger.Target{{Sink: inbox.Sink, Inbox: true}}}},
		})
		if err != nil {
			return "", errors.Join(err, l.Release(ctx, c))
		}
		committed = true
		_, done := l.Claim(ctx, "r", "s", 0, c.Due, "b", time.Hour)
		return text + fmt.Sprint(got.Deliveries, got.Unsubscribed, got.Lanes, errors.Is(done, ledger.ErrDone)), nil
	})
	p.due++
	if committed {
		p.open[key] = op == ledger.Insert
	}
}

func (p *pair) notice() *notice.Notice {
	return &notice.Notice{
		ID: fmt.Sprintf("n_%d", p.notices), Type: typ.Code, TypeID: typ.ID, Warehouse: inbox.Warehouse, Rule: "r", Scope: "s", Key: `["a"]`,
		Episode: notice.EpisodeAt(0, start), Status: notice.Firing, Priority: 3, Modal: "popup", Title: "Look", Count: 1,
		CreatedAt: time.Now().UTC().Truncate(time.Microsecond), ExpiresAt: time.Now().UTC().Add(time.Hour).Truncate(time.Microsecond),
	}
}

// delivers takes the inbox's lane, and marks what is pending as sent, tried or refused.
func (p *pair) delivers() {
	mark, most := p.random.IntN(3), 1+p.random.IntN(3)
	p.same("a delivery", func(ctx context.Context, l engine.Ledger) (string, error) {
		held, err := l.AcquireLane(ctx, inbox, "a", time.Hour)
		if err != nil {
			return "", err
		}
		other, err := l.AcquireLane(ctx, inbox, "b", time.Hour)
		if err != nil {
			return "", err
		}
		batch, err := l.Pending(ctx, inbox, most)
		if err != nil {
			return "", err
		}
		text, seqs, receipts := fmt.Sprint(held, other), []int64{}, []delivery.Receipt{}
		for _, d := range batch {
			text += fmt.Sprint(" ", d.Notice.ID, d.Recipients)
			seqs, receipts = append(seqs, d.Seq), append(receipts, delivery.Receipt{Seq: d.Seq})
		}
		switch {
		case len(batch) == 0:
		case mark == 0:
			err = l.MarkSent(ctx, "", receipts, delivery.Attempt{})
		case mark == 1:
			err = l.MarkAttempt(ctx, seqs, delivery.Attempt{Error: "away"})
		default:
			err = l.MarkFailed(ctx, seqs, delivery.Attempt{Error: "refused"})
		}
		return text, errors.Join(err, l.ReleaseLane(ctx, inbox, "a"))
	})
}

// standing compares where everything stands.
func (p *pair) standing() {
	p.same("the scope", func(ctx context.Context, l engine.Ledger) (string, error) {
		s, err := l.Scope(ctx, "r", "s")
		return fmt.Sprint(s.Registered.UTC(), s.Done.UTC(), s.Running != nil, s.Promoted.UTC()), err
	})
	p.same("the findings", func(ctx context.Context, l engine.Ledger) (string, error) {
		list, err := l.Findings(ctx, "r", "s")
		slices.SortFunc(list, func(a, b finding.State) int { return cmp.Compare(a.Key, b.Key) })
		return fmt.Sprintf("%+v", list), err
	})
	p.same("the lanes", func(ctx context.Context, l engine.Ledger) (string, error) {
		list, err := l.PendingLanes(ctx, inbox.Sink)
		return fmt.Sprint(list), err
	})
	p.same("the abandoned", func(ctx context.Context, l engine.Ledger) (string, error) {
		list, err := l.Abandoned(ctx)
		var text strings.Builder
		for _, c := range list {
			fmt.Fprint(&text, c.Rule, c.Scope, c.Due.Sub(start), c.Node)
		}
		return text.String(), err
	})
	p.same("the progress", func(ctx context.Context, l engine.Ledger) (string, error) {
		list, err := l.Progress(ctx)
		var text strings.Builder
		for _, s := range list {
			fmt.Fprint(&text, s.Rule, s.Scope, s.Done.Sub(start), s.Running.IsZero(), s.Running.UTC(), s.Unwell.UTC())
		}
		return text.String(), err
	})
	p.same("the last runs", func(ctx context.Context, l engine.Ledger) (string, error) {
		list, err := l.LastRuns(ctx)
		var text strings.Builder
		for i := range list {
			fmt.Fprint(&text, list[i].Due.Sub(start), list[i].Outcome, list[i].Error, list[i].Rows)
		}
		return text.String(), err
	})
}

// TestTheLedgerInMemoryAnswersAsOneOfSQLite holds the fake of the engine's tests against a ledger that passes the
// ledgers' suite: claims, commits, findings, lanes and deliveries, in whatever order they come.
func TestTheLedgerInMemoryAnswersAsOneOfSQLite(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			p := newPair(t, seed)
			p.standing() // nothing is known
			p.firing()
			p.same("the registration", func(ctx context.Context, l engine.Ledger) (string, error) {
				_, err := l.Register(ctx, "r", "s", 0, start)
				return "", err
			})
			for range 120 {
				switch p.random.IntN(6) {
				case 0, 1, 2:
					p.firing()
				case 3, 4:
					p.delivers()
				default:
					due := p.dueAt(p.due)
					p.due++
					p.same("a skip", func(ctx context.Context, l engine.Ledger) (string, error) {
						recorded, err := l.Skip(ctx, "r", "s", 0, due, "a", "overlap")
						return fmt.Sprint(recorded), err
					})
				}
				p.standing()
			}
		})
	}
}
