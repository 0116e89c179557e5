package postgres

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger/rows"
	"tallyman/internal/testenv"
)

// TestNoticesAreCountedByIndex asks for the plan of a count, with statistics and with none, while there are many notices: they are counted
// again and again, and what is counted must cost nothing but its own entries.
func TestNoticesAreCountedByIndex(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	_, err := Migrate(t.Context(), url)
	noError(t, err)
	conn, err := pgx.Connect(t.Context(), url)
	noError(t, err)
	defer func() { noError(t, conn.Close(t.Context())) }()
	now := time.Now()
	for i, prepare := range []string{
		`INSERT INTO notices (id, type, rule, status, created_at, expires_at, first_seq, last_seq, body, warehouse, priority)
		 SELECT 'n_' || n, 'T', 'r', 'firing', $1::bigint - n * 8640000::bigint, $1::bigint, 0, 0, repeat('x', 300)::bytea, '119240', 1 + n % 5
		 FROM generate_series(1, 10000) AS n`,
		"VACUUM ANALYZE notices",
	} {
		var args []any
		if i == 0 {
			args = append(args, rows.Micros(now))
		}
		_, err := conn.Exec(t.Context(), prepare, args...)
		noError(t, err)
		question := fmt.Sprintf("EXPLAIN EXECUTE counted (%d, %d, %d)", rows.Micros(now.Add(-time.Hour)), rows.Micros(now), time.Hour.Microseconds())
		for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
			for _, q := range []string{"SET plan_cache_mode = " + mode, "PREPARE counted AS " + queries.Get("count-notices")} {
				_, err := conn.Exec(t.Context(), q, pgx.QueryExecModeSimpleProtocol)
				noError(t, err)
			}
			found, err := conn.Query(t.Context(), question, pgx.QueryExecModeSimpleProtocol)
			noError(t, err)
			plan, err := pgx.CollectRows(found, pgx.RowTo[string])
			noError(t, err)
			if text := strings.Join(plan, "\n"); !strings.Contains(text, "notices_created") || i == 1 && !strings.Contains(text, "Index Only Scan") {
				t.Errorf("%s, step %d:\n%s", mode, i, text)
			}
			_, err = conn.Exec(t.Context(), "DEALLOCATE counted")
			noError(t, err)
		}
	}
}
