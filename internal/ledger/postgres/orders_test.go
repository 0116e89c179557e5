package postgres

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/testenv"
)

// TestOrdersGoByIndex checks the server's plans for lists of deliveries and changes, in each order of the API. The
// cost of a page must not depend on the length of the list.
func TestOrdersGoByIndex(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	_, err := Migrate(t.Context(), url)
	noError(t, err)
	conn, err := pgx.Connect(t.Context(), url)
	noError(t, err)
	defer func() { noError(t, conn.Close(t.Context())) }()
	for _, insert := range []string{
		`INSERT INTO notices (id, type, rule, status, created_at, expires_at, first_seq, last_seq, body, warehouse)
		 SELECT ($1::text[])[1 + i % cardinality($1::text[])] || i, 'T', 'r', 'firing', i, 0, i, i, 'x', '119240' FROM generate_series(1, 20000) AS i`,
		`INSERT INTO deliveries (seq, expires_at, lane_id, state, notice_id)
		 SELECT i, 1, 1 + i % 10, i % 3, ($1::text[])[1 + i % cardinality($1::text[])] || i FROM generate_series(1, 20000) AS i`,
	} {
		_, err = conn.Exec(t.Context(), insert, everywhere(time.Now()))
		noError(t, err)
	}
	_, err = conn.Exec(t.Context(), "INSERT INTO lanes (sink, warehouse) SELECT 'inbox', 'w' || i FROM generate_series(1, 10) AS i")
	noError(t, err)
	_, err = conn.Exec(t.Context(), `INSERT INTO audit (at, actor, via, action, object, reason) SELECT i, 'a', 'none', 'x.y', 'z:' || i, '' FROM generate_series(1, 20000) AS i`)
	noError(t, err)
	_, err = conn.Exec(t.Context(), "ANALYZE")
	noError(t, err)
	deliveries := []any{"", "", "", "", "", []int16{}, int64(math.MaxInt64), 50, int64(1), false, int64(0), "", int64(1)}
	changes := []any{"", "", "", int64(0), int64(0), 50, 1 << 20, int64(0)}
	for name, q := range map[string]struct {
		index string
		args  []any
	}{
		"list-deliveries":        {"deliveries_ended_", deliveries},
		"list-deliveries-oldest": {"deliveries_ended_", deliveries},
		"changes":                {"audit_pkey", changes},
		"changes-oldest":         {"audit_pkey", changes},
	} {
		plan := planOf(t, conn, "EXPLAIN "+queries.Get(name), q.args...)
		backward := strings.Contains(plan, "Index Scan Backward using "+q.index)
		if oldest := strings.HasSuffix(name, "-oldest"); backward == oldest || oldest && !strings.Contains(plan, "Index Scan using "+q.index) {
			t.Errorf("%s goes by\n%s", name, plan)
		}
		if strings.Contains(plan, "Seq Scan on deliveries") || strings.Contains(plan, "Seq Scan on audit") {
			t.Errorf("%s reads a whole table:\n%s", name, plan)
		}
	}
}

// asked is a connection or a transaction.
type asked interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// planOf returns the server's answer to an EXPLAIN.
func planOf(t *testing.T, db asked, explain string, args ...any) string {
	t.Helper()
	found, err := db.Query(t.Context(), explain, args...)
	noError(t, err)
	lines, err := pgx.CollectRows(found, pgx.RowTo[string])
	noError(t, err)
	return strings.Join(lines, "\n")
}
