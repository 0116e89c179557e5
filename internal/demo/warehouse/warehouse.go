// Package warehouse simulates the sample WMS: it releases waves, picks them, ships orders, refills bins and
// counts stock, minute by minute. It writes to the WMS database as a WMS would and knows nothing of Tallyman.
//
// With one seed it does the same every time.
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

// Simulator moves one WMS database through time. It is not safe for concurrent use.
type Simulator struct {
	db    *sql.DB
	sites []*site
	tell  func(Event)
	calm  bool // see LeaveRefills
}

// site is one warehouse with dice of its own, so that adding a warehouse does not change the others.
type site struct {
	id        int64
	name      string
	rng       *rand.Rand
	nextWave  int64
	nextOrder int64
	refills   map[string]time.Time // pick bin → when the forklift arrives
	stuck     map[int64]time.Time  // wave → until when nobody picks it
	shipping  map[string]time.Time // picked order → when it leaves
}

// New fills an empty database (the schema exists) with a warehouse at rest and returns its simulator. tell is
// called for what happens, in order.
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

// Step lives through the minute that ends at now.
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

func inTx(ctx context.Context, db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		_ = tx.Rollback() // the first error is the one to tell
		return err
	}
	return tx.Commit()
}

// stamp is how the sample WMS writes a time.
func stamp(t time.Time) string { return t.UTC().Format(time.DateTime) }
