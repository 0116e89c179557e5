package crashtest

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/internal/ledger"
	pgledger "tallyman/internal/ledger/postgres"
	sqliteledger "tallyman/internal/ledger/sqlite"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
	"tallyman/rules/catalog"
)

var steps = []string{
	engine.StepClaimed, engine.StepScanned, engine.StepJudged, engine.StepCommitting,
	engine.StepCommitted, engine.StepDelivering, engine.StepDelivered, engine.StepMarked,
}

// TestKilledInEachStep kills a process in each step of a run. Each step meets both ledgers, and each story each ledger
// in every other step: that a commit is whole or none, the ledgers' own tests show of both.
func TestKilledInEachStep(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	for i, step := range steps {
		one, other := "sqlite", "postgres"
		if i%2 == 1 {
			one, other = other, one
		}
		t.Run(one+"/state/"+step, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, one, "state")
			h.exec("INSERT INTO bin_stock VALUES (1, 'A-01', -1), (2, 'A-02', -1), (3, 'A-03', -1), (4, 'A-04', 5)")
			h.killedAt(step)
			h.until("firing [1]", "firing [2]", "firing [3]")
			h.exec("UPDATE bin_stock SET qty = -qty WHERE id <> 2")
			h.killedAt(step)
			h.until("firing [1]", "firing [2]", "firing [3]", "firing [4]", "resolved [1]", "resolved [3]")
			h.check()
		})
		t.Run(other+"/event/"+step, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, other, "event")
			h.exec("INSERT INTO bin_stock VALUES (1, 'A-01', -1), (2, 'A-02', 5), (3, 'A-03', -1), (4, 'A-04', -1), (5, 'A-05', -1)")
			h.killedAt(step)
			h.until("event [1]", "event [3]", "event [4]", "event [5]")
			h.exec("INSERT INTO bin_stock VALUES (6, 'A-06', -1), (7, 'A-07', -1), (8, 'A-08', -1)")
			h.killedAt(step)
			h.until("event [1]", "event [3]", "event [4]", "event [5]", "event [6]", "event [7]", "event [8]")
			h.check()
		})
		t.Run(other+"/group/"+step, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, other, groups)
			h.exec("INSERT INTO bin_stock VALUES (1, 'A', -1), (2, 'A', -1), (3, 'B', -1), (4, 'C', -1)")
			h.killedAt(step)
			h.until(`firing ["A"]`, `firing ["digest","W1"]`)
			h.exec("INSERT INTO bin_stock VALUES (5, 'D', -1); UPDATE bin_stock SET qty = 1 WHERE id IN (1, 3, 4)")
			h.killedAt(step)
			h.until(`firing ["A"]`, `firing ["digest","W1"]`, `firing ["D"]`, `resolved ["digest","W1"]`)
			h.check()
		})
		if step == engine.StepScanned {
			continue // which a failed run does not come to
		}
		t.Run(one+"/alert/"+step, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, one, alerts)
			h.exec("ALTER TABLE bin_stock RENAME TO not_yet")
			h.killedAt(step)
			h.until(`firing "on_error"`)
			h.exec("INSERT INTO not_yet VALUES (1, 'A', -1); ALTER TABLE not_yet RENAME TO bin_stock")
			h.killedAt(step)
			h.until(`firing "on_error"`, "firing [1]", `resolved "on_error"`)
			h.check()
		})
	}
}

// Each pass of a firing goes on where the pass before ended, in the first firing and in a later one. No process is
// killed.
func TestPassesOfAFiringGoOnAtTheWatermark(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, kind, pages)
			h.exec("INSERT INTO bin_stock VALUES (1, 'A-01', -1), (2, 'A-02', 5), (3, 'A-03', -1), (4, 'A-04', -1), (5, 'A-05', -1)")
			h.until("event [1]", "event [3]", "event [4]", "event [5]")
			h.exec("INSERT INTO bin_stock VALUES (6, 'A-06', -1), (7, 'A-07', -1), (8, 'A-08', -1)")
			h.until("event [1]", "event [3]", "event [4]", "event [5]", "event [6]", "event [7]", "event [8]")
			h.check()
		})
	}
}

// harness is the folder of one test: a source, a ledger, and the processes that die on them.
type harness struct {
	*testing.T
	folder string
	rule   string
	source *sql.DB
	want   []string

	removed int // notices of want that no run has made: the rule was removed
}

func newHarness(t *testing.T, kind, rule string) *harness {
	t.Helper()
	h := &harness{T: t, folder: t.TempDir(), rule: rule}
	h.write(ruleFile, rule)
	db, err := sql.Open("sqlite", filepath.Join(h.folder, sourceFile)+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	h.source = db
	h.exec("CREATE TABLE bin_stock (id INTEGER PRIMARY KEY, bin TEXT NOT NULL, qty INTEGER NOT NULL)")

	url := "sqlite:" + filepath.Join(h.folder, "ledger.db")
	if kind == "postgres" {
		url = testenv.Postgres(t)
		_, err = pgledger.Migrate(t.Context(), url)
	} else {
		_, err = sqliteledger.Migrate(t.Context(), filepath.Join(h.folder, "ledger.db"))
	}
	if err != nil {
		t.Fatal(err)
	}
	h.write(urlFile, url)
	h.withLedger(func(l ledger.Ledger) {
		who := ledger.Author{By: "node:parent", Via: ledger.ViaStart}
		types := catalog.BuiltIn()
		types[binNotice.Code] = binNotice
		if _, err := l.SeedTypes(t.Context(), who, types); err != nil {
			t.Fatal(err)
		}
		subs := []ledger.Subscription{
			{Type: binNotice.Code, Warehouse: "*", Subscriber: "role:keeper"}, {Type: catalog.RuleFailed, Warehouse: "*", Subscriber: "role:keeper"},
		}
		if _, err := l.AddSubscriptions(t.Context(), who, subs); err != nil {
			t.Fatal(err)
		}
	})
	return h
}

func (h *harness) write(name, text string) {
	h.Helper()
	if err := os.WriteFile(filepath.Join(h.folder, name), []byte(text), 0o600); err != nil {
		h.Fatal(err)
	}
}

func (h *harness) exec(statement string) {
	h.Helper()
	if _, err := h.source.ExecContext(h.Context(), statement); err != nil {
		h.Fatal(err)
	}
}

func (h *harness) withLedger(use func(l ledger.Ledger)) {
	h.Helper()
	var l ledger.Ledger
	var err error
	testenv.Eventually(h, func() bool {
		// A process that a test beside this one is about to start holds this one's locked files from its fork
		// to its exec.
		l, err = openLedger(h.Context(), h.folder)
		return !errors.Is(err, ledger.ErrInUse)
	}, 10*time.Second)
	if err != nil {
		h.Fatal(err)
	}
	defer l.Close()
	use(l)
}

// process starts this test binary as the child.
func (h *harness) process() (cmd *exec.Cmd, log *bytes.Buffer) {
	h.Helper()
	cmd = exec.CommandContext(h.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childFolder+"="+h.folder)
	log = &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = log, log
	if _, err := cmd.StdinPipe(); err != nil { // closes when this process ends, whatever its end
		h.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	return cmd, log
}

// killedAt runs a child until it is killed in the step, or so long after it. A child that is to die some time after a
// step may have come to an end before: it dies at the latest after some seconds.
func (h *harness) killedAt(step string) {
	h.Helper()
	h.write(dieFile, step)
	cmd, log := h.process()
	if strings.Contains(step, " ") {
		latest := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		defer latest.Stop()
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		h.Fatalf("the child ended with %v:\n%s", err, log)
	}
	h.write(dieFile, "")
}

// until runs a child until the sink has got all that is wanted and the ledger has recorded it, and stops
// the child as an operator does.
func (h *harness) until(want ...string) {
	h.Helper()
	h.want = want
	h.untilIs(h.complete)
}

// untilIs runs a child until it is, and stops the child as an operator does.
func (h *harness) untilIs(complete func() bool) {
	h.Helper()
	h.write(sentFile, "")
	cmd, log := h.process()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	deadline := time.After(60 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !complete() {
		select {
		case err := <-done:
			h.Fatalf("the child ended with %v:\n%s", err, log)
		case <-deadline:
			_ = cmd.Process.Kill()
			h.Fatalf("the sink got %q, want %q; the child ended with %v\n%s", h.distinct(), h.want, <-done, log)
		case <-tick.C:
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		h.Fatal(err)
	}
	if err := <-done; err != nil {
		h.Fatalf("the child ended with %v:\n%s", err, log)
	}
}

func (h *harness) complete() bool {
	got := h.distinct()
	for _, w := range h.want {
		if !slices.Contains(got, w) {
			return false
		}
	}
	return read(h.folder, sentFile) == strconv.Itoa(len(got))
}

// taken is one line of the sink's file.
type taken struct {
	seq  int64
	id   string
	what string // status and key
	rest string // lane and recipients
}

func (h *harness) taken() []taken {
	h.Helper()
	var list []taken
	for line := range strings.Lines(read(h.folder, sinkFile)) {
		f := strings.Fields(line)
		if len(f) != 6 || !strings.HasSuffix(line, "\n") {
			continue // half a line, written just now
		}
		seq, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil {
			h.Fatal(err)
		}
		list = append(list, taken{seq, f[1], f[2] + " " + f[3], f[4] + " " + f[5]})
	}
	return list
}

// distinct is what the sink got, without repetitions of an id.
func (h *harness) distinct() (what []string) {
	seen := map[string]bool{}
	for _, n := range h.taken() {
		if !seen[n.id] {
			seen[n.id] = true
			what = append(what, n.what)
		}
	}
	return what
}

// check holds the sink and the ledger against what was wanted: each notice once, in order, and each firing
// committed once.
func (h *harness) check() {
	h.Helper()
	got := h.distinct()
	slices.Sort(got)
	slices.Sort(h.want)
	if !slices.Equal(got, h.want) {
		h.Errorf("the sink got %q, want %q", got, h.want)
	}
	var ids []string
	last := int64(0)
	for _, n := range h.taken() {
		if n.rest != "W1 role:keeper" {
			h.Errorf("%+v", n)
		}
		if slices.Contains(ids, n.id) {
			continue // delivered again: the crash came before the mark
		}
		if n.seq <= last {
			h.Errorf("%s came out of order", n.what)
		}
		ids, last = append(ids, n.id), n.seq
	}
	h.withLedger(func(l ledger.Ledger) { h.checkLedger(l, ids) })
}

func (h *harness) checkLedger(l ledger.Ledger, ids []string) {
	h.Helper()
	kept, err := l.Notices(h.Context(), ids)
	if err != nil || len(kept) != len(ids) {
		h.Errorf("the ledger has %d of the %d notices: %v", len(kept), len(ids), err)
	}
	totals, err := l.Totals(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	count := map[string]int{}
	for _, t := range totals {
		count[t.Status] += int(t.Count)
	}
	for _, s := range []notice.Status{notice.Firing, notice.Resolved, notice.Event} {
		want := 0
		for _, w := range h.want {
			if strings.HasPrefix(w, string(s)+" ") {
				want++
			}
		}
		if count[string(s)] != want {
			h.Errorf("the ledger has %d %s notices, want %d", count[string(s)], s, want)
		}
	}
	deliveries, err := l.CountDeliveries(h.Context())
	if err != nil || deliveries["log"][ledger.DeliverySent] != int64(len(ids)) || len(deliveries["log"]) != 1 {
		h.Errorf("deliveries %v, %v", deliveries, err)
	}
	h.checkRuns(l, len(ids))
}

// checkRuns proves that each firing was committed once: the runs are of different due times, and together they
// made the notices.
func (h *harness) checkRuns(l ledger.Ledger, notices int) {
	h.Helper()
	runs, err := l.Runs(h.Context(), "bins", nil, 1000)
	if err != nil {
		h.Fatal(err)
	}
	made := 0
	seen := map[int64]bool{}
	for _, run := range runs {
		if seen[run.Due.UnixMicro()] {
			h.Errorf("the firing of %v was committed twice", run.Due)
		}
		seen[run.Due.UnixMicro()] = true
		made += run.Notices
		if failed := run.Outcome == ledger.OutcomeFailed; failed && h.rule != alerts || run.Outcome == ledger.OutcomeDegraded {
			h.Errorf("%+v", run)
		}
	}
	if made+h.removed != notices {
		h.Errorf("the runs made %d notices, the removal %d, the sink got %d: %s", made, h.removed, notices, fmt.Sprint(runs))
	}
}
