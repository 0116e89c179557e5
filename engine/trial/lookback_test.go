package trial_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/engine/trial"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
	"tallyman/rules"
	"tallyman/scanners"
	"tallyman/scanners/mysql"
	"tallyman/scanners/postgres"
	"tallyman/scanners/sqlite"
)

// longest is how many scans may pass between the first statement of a transaction and its commit; skew is how many a
// writer's clock may be wrong.
const (
	longest = 5
	skew    = 2
)

// wms is a database with a table of moves, to which writers add rows.
type wms struct {
	source scanners.Source
	db     *sql.DB
	create string // of the table
	// insert adds a row in a transaction and returns its id.
	insert func(t *testing.T, tx *sql.Tx, at int64) int64
	// ids numbers the rows of a database that lets one transaction write at a time: a row has its number long before it
	// is written.
	ids *atomic.Int64
}

func openDB(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func opened[S scanners.Source](t *testing.T, s S, err error) scanners.Source {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// wmsKinds are the databases that the property is held on.
var wmsKinds = map[string]func(t *testing.T) *wms{
	"postgres": func(t *testing.T) *wms {
		t.Helper()
		url := testenv.Postgres(t)
		s, err := postgres.Open(t.Context(), postgres.Config{URL: url})
		return &wms{
			source: opened(t, s, err), db: openDB(t, "pgx", url), create: "CREATE TABLE moves (id bigserial PRIMARY KEY, at bigint NOT NULL)",
			insert: func(t *testing.T, tx *sql.Tx, at int64) (id int64) {
				t.Helper()
				if err := tx.QueryRowContext(t.Context(), "INSERT INTO moves (at) VALUES ($1) RETURNING id", at).Scan(&id); err != nil {
					t.Error(err)
				}
				return id
			},
		}
	},
	"mariadb": func(t *testing.T) *wms {
		t.Helper()
		server := testenv.MariaDB(t)
		s, err := mysql.Open(mysql.Config{URL: server.URL()})
		return &wms{
			source: opened(t, s, err), db: openDB(t, "mysql", server.DSN()), create: "CREATE TABLE moves (id bigint AUTO_INCREMENT PRIMARY KEY, at bigint NOT NULL)",
			insert: func(t *testing.T, tx *sql.Tx, at int64) (id int64) {
				t.Helper()
				done, err := tx.ExecContext(t.Context(), "INSERT INTO moves (at) VALUES (?)", at)
				if err == nil {
					id, err = done.LastInsertId()
				}
				if err != nil {
					t.Error(err)
				}
				return id
			},
		}
	},
	"sqlite": func(t *testing.T) *wms {
		t.Helper()
		file := filepath.Join(t.TempDir(), "wms.db")
		s, err := sqlite.Open(sqlite.Config{URL: "sqlite:" + file})
		db := openDB(t, "sqlite", "file:"+file+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)")
		db.SetMaxOpenConns(1)
		return &wms{source: opened(t, s, err), db: db, create: "CREATE TABLE moves (id integer PRIMARY KEY, at integer NOT NULL)", ids: &atomic.Int64{}}
	},
}

func (w *wms) exec(t *testing.T, statement string) {
	t.Helper()
	if _, err := w.db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// moveRule is a rule of mode event over the table moves.
func moveRule(t *testing.T, where, limit, watermark string, maxRows int) *rules.Rule {
	t.Helper()
	set := rules.LoadFile("f.yaml", fmt.Appendf(nil, `version: 1
rules:
  - id: moves
    mode: event
    schedule: {cron: "* * * * * *"}
    source: wms
    probe:
      sql: SELECT id, at FROM moves WHERE %s %s
      columns: {at: {type: unix_seconds}}
      max_rows: %d
      watermark: {%s}
    key: [id]
    notice: {type: REP_NOTICE, warehouse: "'w'", title: "Moved", fields: {bin: "string(id)"}}
    deliver: [{sink: inbox}]
`, where, limit, maxRows, watermark))
	if len(set.Problems) > 0 {
		t.Fatal(set.Problems)
	}
	return set.Rules[0]
}

// reader is a rule that reads the moves, with the number of its notices for each.
type reader struct {
	trial *trial.Trial
	told  map[string]int
}

func newReader(t *testing.T, w *wms, r *rules.Rule) *reader {
	t.Helper()
	try, err := trial.New(r, w.source, bins, trial.Start{})
	if err != nil {
		t.Fatal(err)
	}
	if err := try.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &reader{try, map[string]int{}}
}

func (r *reader) run(t *testing.T, at time.Time) {
	t.Helper()
	run, err := r.trial.Run(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	if run.Run.Outcome != ledger.OutcomeOK {
		t.Fatal(run.Run.Outcome, run.Run.Error, run.Run.Samples)
	}
	for _, c := range run.Commits {
		for _, n := range c.Notices {
			r.told[n.Notice.Key]++
		}
	}
}

// world lets transactions stay open for a number of scans. A scan waits for transactions that would be open for longer.
type world struct {
	mu   sync.Mutex
	cond *sync.Cond
	scan int
	open map[int]int // by writer: the scan in which its transaction began
	done bool
}

// advance begins the next scan.
func (w *world) advance() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.tooLong() {
		w.cond.Wait()
	}
	w.scan++
	w.cond.Broadcast()
	return w.scan
}

func (w *world) tooLong() bool {
	for _, began := range w.open {
		if began < w.scan+1-longest {
			return true
		}
	}
	return false
}

// begin notes that a writer's transaction begins.
func (w *world) begin(writer int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[writer] = w.scan
	return w.scan
}

// wait waits for a scan, or for the end.
func (w *world) wait(scan int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.scan < scan && !w.done {
		w.cond.Wait()
	}
}

// end notes that a writer's transaction has ended, and waits for the next scan. It tells whether the writer goes on.
func (w *world) end(writer int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, writer)
	w.cond.Broadcast()
	for at := w.scan; w.scan == at && !w.done; {
		w.cond.Wait()
	}
	return !w.done
}

func (w *world) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
	w.cond.Broadcast()
}

// TestLookBackLosesNothing: eight writers add rows in transactions that are open for some scans; some are rolled back.
// Numbers come from a sequence, times from the clocks of the writers. Each rule sends one notice for each row.
func TestLookBackLosesNothing(t *testing.T) {
	t.Parallel()
	for name, open := range wmsKinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			w.exec(t, w.create)
			byID, byTime := "id > :wm_id ORDER BY id", "(at > :wm_at OR at = :wm_at AND id > :wm_id) ORDER BY at, id"
			byNumber := fmt.Sprintf("columns: [id], initial: {id: 0}, look_back: %ds", longest+1)
			readers := map[string]*reader{
				"a number":         newReader(t, w, moveRule(t, byID, "", byNumber, 10_000)),
				"a number by page": newReader(t, w, moveRule(t, byID, "", byNumber, 5)),
				"a LIMIT":          newReader(t, w, moveRule(t, byID, "LIMIT 7", byNumber, 100)),
				"so many numbers":  newReader(t, w, moveRule(t, byID, "", fmt.Sprintf("columns: [id], initial: {id: 0}, look_back: %d", 8*3*(longest+1)), 100)),
				"a time": newReader(t, w, moveRule(t, byTime, "",
					fmt.Sprintf("columns: [at, id], initial: {at: 2020-01-01T00:00:00Z, id: 0}, look_back: %ds", longest+1+2*skew), 100)),
			}
			committed := write(t, w, readers)
			for name, r := range readers {
				lost, doubled := 0, 0
				for key, n := range r.told {
					if n > 1 {
						doubled++
					}
					if !committed[key] {
						t.Errorf("%s: told of %s, which is not there", name, key)
					}
				}
				for key := range committed {
					if r.told[key] == 0 {
						lost++
					}
				}
				if t.Logf("%s: %d rows", name, len(committed)); lost+doubled > 0 || len(committed) < 50 {
					t.Errorf("%s: %d rows, %d lost, %d doubled", name, len(committed), lost, doubled)
				}
			}
		})
	}
}

// write lets the writers write while the rules run, and returns the keys of the rows that are there in the end.
func write(t *testing.T, w *wms, readers map[string]*reader) map[string]bool {
	t.Helper()
	const scans, writers = 40, 8
	start := time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
	world := &world{open: map[int]int{}}
	world.cond = sync.NewCond(&world.mu)
	var mu sync.Mutex
	committed := map[string]bool{}
	var running sync.WaitGroup
	for i := range writers {
		random := rand.New(rand.NewPCG(uint64(i), 16))
		running.Go(func() {
			for goesOn := true; goesOn; goesOn = world.end(i) {
				began := world.begin(i)
				rows := make([]int64, 1+random.IntN(3))
				for k := range rows {
					rows[k] = start.Unix() + int64(began+random.IntN(2*skew+1)-skew)
				}
				ids := w.transaction(t, rows, func() { world.wait(began + random.IntN(longest+1)) }, random.IntN(5) == 0)
				mu.Lock()
				for _, id := range ids {
					committed[fmt.Sprintf("[%d]", id)] = true
				}
				mu.Unlock()
			}
		})
	}
	for world.scan < scans {
		at := start.Add(time.Duration(world.advance()) * time.Second)
		for _, r := range readers {
			r.run(t, at)
		}
	}
	world.stop()
	running.Wait()
	for i := range 3 * scans { // a LIMIT lets a run take a few rows only
		for _, r := range readers {
			r.run(t, start.Add(time.Duration(scans+1+i)*time.Second))
		}
	}
	return committed
}

// transaction adds rows, waits, and commits or not. It returns the numbers of the rows that are there.
func (w *wms) transaction(t *testing.T, rows []int64, wait func(), rollback bool) []int64 {
	t.Helper()
	if w.ids != nil {
		return w.numbered(t, rows, wait, rollback)
	}
	tx, err := w.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Error(err)
		return nil
	}
	ids := make([]int64, len(rows))
	for i, at := range rows {
		ids[i] = w.insert(t, tx, at)
	}
	wait()
	if rollback {
		_ = tx.Rollback()
		return nil
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
	return ids
}

// numbered is transaction for a database that lets one transaction write at a time.
func (w *wms) numbered(t *testing.T, rows []int64, wait func(), rollback bool) []int64 {
	t.Helper()
	ids, values := make([]int64, len(rows)), make([]string, len(rows))
	for i, at := range rows {
		ids[i] = w.ids.Add(1)
		values[i] = fmt.Sprintf("(%d, %d)", ids[i], at)
	}
	wait()
	if rollback {
		return nil
	}
	if _, err := w.db.ExecContext(t.Context(), "INSERT INTO moves (id, at) VALUES "+strings.Join(values, ", ")); err != nil {
		t.Error(err)
	}
	return ids
}
