package warehouse

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"time"
)

// Event is something that a person in the warehouse would notice.
type Event struct {
	At        time.Time
	Warehouse string
	Text      string
}

// Simulator simulates the warehouses of one WMS database. It is not safe for concurrent use.
type Simulator struct {
	db    *sql.DB
	sites []*site
	tell  func(Event)
	calm  bool // Set by LeaveRefills.
}

// site is one warehouse. It has its own random numbers, so that another warehouse does not change it.
type site struct {
	id        int64
	name      string
	rng       *rand.Rand
	nextWave  int64
	nextOrder int64
	refills   map[string]time.Time // When the forklift arrives, keyed by pick bin.
	stuck     map[int64]time.Time  // Until when nobody picks, keyed by wave.
	shipping  map[string]time.Time // When the order leaves, keyed by picked order.
}

// New fills a database, which has the schema and no rows, and returns its simulator. The simulator calls tell for each
// event, in order.
func New(ctx context.Context, db *sql.DB, seed uint64, now time.Time, tell func(Event)) (*Simulator, error) {
	s := &Simulator{db: db, tell: tell}
	for i, w := range []struct {
		id             int64
		name, timezone string
	}{
		{119240, "Shanghai", "Asia/Shanghai"},
		{119241, "Berlin", "Europe/Berlin"},
	} {
		st := &site{
			id: w.id, name: fmt.Sprint(w.id),
			rng:       rand.New(rand.NewPCG(seed, uint64(i))), //nolint:gosec // dice of a simulation, repeatable on purpose
			nextWave:  1001,
			nextOrder: 1,
			refills:   map[string]time.Time{}, stuck: map[int64]time.Time{}, shipping: map[string]time.Time{},
		}
		s.sites = append(s.sites, st)
		err := inTx(ctx, db, func(tx *sql.Tx) error { return st.stock(ctx, tx, w.name, w.timezone, now) })
		if err != nil {
			return nil, fmt.Errorf("fill the sample warehouse %d: %w", w.id, err)
		}
	}
	return s, nil
}

// Step simulates the minute that ends at now.
func (s *Simulator) Step(ctx context.Context, now time.Time) error {
	for _, st := range s.sites {
		tell := func(format string, args ...any) {
			s.tell(Event{At: now, Warehouse: st.name, Text: fmt.Sprintf(format, args...)})
		}
		err := inTx(ctx, s.db, func(tx *sql.Tx) error {
			m := &minute{site: st, ctx: ctx, tx: tx, now: now, tell: tell, calm: s.calm}
			return m.live()
		})
		if err != nil {
			return fmt.Errorf("simulate warehouse %d: %w", st.id, err)
		}
	}
	return nil
}

const pickBins = 24 // Per warehouse.

var carriers = []string{"DHL", "SF Express", "DPD", "UPS"}

func binCode(i int) string { return fmt.Sprintf("%c-%02d", 'A'+i/8, i%8+1) }

func sku(i int) string { return fmt.Sprintf("S%03d", i+1) }

// stock puts goods into an empty warehouse: full pick bins, and lots, a few of them old.
func (s *site) stock(ctx context.Context, tx *sql.Tx, name, timezone string, now time.Time) error {
	exec := func(query string, args ...any) error {
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	}
	if err := exec(`INSERT INTO warehouses VALUES (?, ?, ?)`, s.id, name, timezone); err != nil {
		return err
	}
	for i := range pickBins {
		if err := exec(`INSERT OR IGNORE INTO skus VALUES (?, ?, 'piece')`, sku(i), "Article "+sku(i)); err != nil {
			return err
		}
		if err := exec(`INSERT INTO bins VALUES (?, ?, 'pick', 10)`, s.id, binCode(i)); err != nil {
			return err
		}
		err := exec(`INSERT INTO bin_stock VALUES (?, ?, ?, ?, NULL, ?)`, s.id, binCode(i), sku(i), 12+s.rng.IntN(30), stamp(now))
		if err != nil {
			return err
		}
		days := 2 + 2*i // The first lots expire soon.
		err = exec(`INSERT INTO lots VALUES (?, ?, ?, ?, ?)`, s.id, fmt.Sprintf("L%d-%02d", s.id%100, i+1), sku(i),
			20+s.rng.IntN(80), now.UTC().AddDate(0, 0, days).Format(time.DateOnly))
		if err != nil {
			return err
		}
	}
	return nil
}

// minute is one minute of one warehouse, in one transaction.
type minute struct {
	*site
	ctx  context.Context //nolint:containedctx // lives as long as the transaction beside it
	tx   *sql.Tx
	now  time.Time
	tell func(format string, args ...any)
	calm bool // Refills are left to callers of Refill.
}

// live simulates the steps of the minute, in the order in which a shift does them.
func (m *minute) live() error {
	for _, act := range []func() error{m.release, m.pick, m.ship, m.refill, m.count, m.scrap} {
		if err := act(); err != nil {
			return err
		}
	}
	return nil
}

// chance is true once in n calls on average.
func (m *minute) chance(n int) bool { return m.rng.IntN(n) == 0 }

// in returns a time between from and to minutes from now.
func (m *minute) in(from, to int) time.Time {
	return m.now.Add(time.Duration(from+m.rng.IntN(to-from+1)) * time.Minute)
}

func (m *minute) exec(query string, args ...any) error {
	if _, err := m.tx.ExecContext(m.ctx, query, args...); err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	return nil
}

// all runs a query and gives each row's scanner to visit.
func (m *minute) all(visit func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := m.tx.QueryContext(m.ctx, query, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := visit(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func inTx(ctx context.Context, db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		_ = tx.Rollback() // The caller gets the first error.
		return err
	}
	return tx.Commit()
}

// stamp formats a time as the sample WMS does.
func stamp(t time.Time) string { return t.UTC().Format(time.DateTime) }
