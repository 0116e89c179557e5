package postgres

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
)

// TestSearchesGoByIndex asks the server how it would look, whatever is searched for.
func TestSearchesGoByIndex(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	_, err := Migrate(t.Context(), url)
	noError(t, err)
	conn, err := pgx.Connect(t.Context(), url)
	noError(t, err)
	defer func() { noError(t, conn.Close(t.Context())) }()
	_, err = conn.Exec(t.Context(), `INSERT INTO notices (id, type, rule, status, created_at, expires_at, first_seq, last_seq, body, finding, warehouse)
		SELECT 'n_' || i, 'T' || i % 20, 'rule-' || i % 100, 'firing', i * 1000::bigint, 0, i, i, 'x', i % 5000, 'W' || i % 10 FROM generate_series(1, 20000) AS i`)
	noError(t, err)
	_, err = conn.Exec(t.Context(), "ANALYZE notices")
	noError(t, err)
	scope := "119240"
	for index, filters := range map[string][]ledger.NoticeFilter{
		"Index Only Scan Backward using notices_created": {
			{},
			{Rule: "rule-7"},
			{Rule: "rule-7", Types: []string{"T1"}, Warehouses: []string{"W1"}, Key: "A"},
			{Types: []string{"T1", "T2"}},
			{Warehouses: []string{"W1", "W2"}, Statuses: []notice.Status{notice.Firing}},
			{Key: "A-01"},
			{Priority: 4},
			{Statuses: []notice.Status{notice.Resolved}},
			{Scope: &scope},
			{From: time.UnixMicro(1), To: time.UnixMicro(9e6)},
			{Before: ledger.NoticePlace{At: time.UnixMicro(5e6), N: 7, ID: "n_7"}},
		},
		"notices_finding": {{Rule: "rule-7", Scope: &scope, Finding: "[1]"}},
	} {
		for _, f := range filters {
			f.Limit = 50
			s := rows.NewSearch(f)
			args, _ := s.Next()
			tx, err := conn.Begin(t.Context())
			noError(t, err)
			if s.Finding == nil {
				_, err = tx.Exec(t.Context(), queries.Get("in-order"))
				noError(t, err)
			}
			lead, values := leadOf(s, &args)
			found, err := tx.Query(t.Context(), "EXPLAIN "+lead, values...)
			noError(t, err)
			lines, err := pgx.CollectRows(found, pgx.RowTo[string])
			noError(t, err)
			noError(t, tx.Rollback(t.Context()))
			if plan := strings.Join(lines, "\n"); !strings.Contains(plan, index) || strings.Contains(plan, "Seq Scan") {
				t.Errorf("%+v is searched for by\n%s", f, plan)
			}
		}
	}
}
