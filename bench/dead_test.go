package bench

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	deadEvery = time.Second
	// autovacuumEvery is the pause of autovacuum. A phase may be shorter than the default of a minute.
	autovacuumEvery = "5s"
	// deadSlack is the number of dead rows that autovacuum may leave in small tables: 50 rows in each.
	deadSlack = 1000
)

// deadRows counts the dead rows of all tables of a database, as pg_stat_user_tables counts them.
type deadRows struct {
	mu      sync.Mutex
	now     int
	most    int    // since the last mark
	table   string // the table with the most dead rows since the last mark
	largest int    // the most dead rows of this table
}

// watchDead counts each second, until the test ends. While the server does not answer, watchDead counts nothing.
func watchDead(t testing.TB, url string) *deadRows {
	t.Helper()
	d := &deadRows{}
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	t.Cleanup(func() { cancel(); watching.Wait() })
	watching.Go(func() {
		tick := time.NewTicker(deadEvery)
		defer tick.Stop()
		for {
			if c, err := pgx.Connect(ctx, url); err == nil {
				for err == nil {
					if err = d.look(ctx, c); err == nil {
						select {
						case <-tick.C:
						case <-ctx.Done():
							err = ctx.Err()
						}
					}
				}
				_ = c.Close(context.WithoutCancel(ctx))
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return d
}

func (d *deadRows) look(ctx context.Context, c *pgx.Conn) error {
	var total, largest int
	var table string
	if err := c.QueryRow(ctx, `SELECT coalesce(sum(n_dead_tup) OVER (), 0)::int, relname::text, n_dead_tup::int
		FROM pg_stat_user_tables ORDER BY n_dead_tup DESC LIMIT 1`).Scan(&total, &table, &largest); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = total
	d.most = max(d.most, total)
	if largest > d.largest {
		d.table, d.largest = table, largest
	}
	return nil
}

// mark begins a phase. It returns the most dead rows of the phase before, and the table with the most of these rows.
func (d *deadRows) mark() (most int, table string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	most, table = d.most, d.table+" "+thousands(float64(d.largest))
	d.most, d.table, d.largest = d.now, "", 0
	return most, table
}

func (d *deadRows) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}
