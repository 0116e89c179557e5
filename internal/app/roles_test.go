package app_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/app"
	"tallyman/internal/config"
	"tallyman/internal/ledger"
	pgledger "tallyman/internal/ledger/postgres"
	"tallyman/internal/notice"
	"tallyman/internal/scaffold"
	"tallyman/internal/testenv"
)

// roleServer is a PostgreSQL with the roles that tallyman init --sql prints.
type roleServer struct{ *testenv.PGServer }

func newRoleServer(t *testing.T) *roleServer {
	t.Helper()
	s := &roleServer{testenv.PostgresServer(t)}
	s.Shell(`psql -v ON_ERROR_STOP=1 -d postgres -c 'CREATE DATABASE wms'
psql -v ON_ERROR_STOP=1 -d wms -c '` + stockTable + `; CREATE TABLE orders (id bigint)' -c "INSERT INTO bin_stock VALUES (119240, 'A-01', 'S001', -3)"`)
	for database, g := range map[string]scaffold.Grants{
		"postgres": {Dialect: "postgres", For: scaffold.ForLedger},
		"wms":      {Dialect: "postgres", For: scaffold.ForSource, Tables: []string{"bin_stock"}},
	} {
		script, err := scaffold.SQL(g)
		if err != nil {
			t.Fatal(err)
		}
		s.Shell("psql -v ON_ERROR_STOP=1 -d " + database + " <<'END OF FILE'\n" + script + "\nEND OF FILE\n")
	}
	return s
}

// as returns the address of the database for the role.
func (s *roleServer) as(role, database string) string {
	return strings.Replace(s.URL(database), "postgres@", role+"@", 1)
}

// TestANodeRunsUnderThePrintedRoles migrates as the owner, serves as the application and probes as the reader.
func TestANodeRunsUnderThePrintedRoles(t *testing.T) {
	t.Parallel()
	server := newRoleServer(t)
	owned, appURL := server.as("tallyman_owner", "tallyman"), server.as("tallyman_app", "tallyman")
	s := newSite(t)
	s.migrated = true
	s.cfg.Redis = config.Redis{URL: config.RedisURL{URLs: []config.Secret{config.NewSecret(testenv.Redis(t).URL())}}, Prefix: "tallyman:"}
	s.cfg.Ledger = config.Ledger{Driver: config.Postgres, URL: config.NewSecret(owned), Retention: 24 * time.Hour}
	if _, err := app.Migrate(t.Context(), s.cfg, app.MigrateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.cfg.Ledger.URL = config.NewSecret(appURL)
	s.cfg.Sources["wms"] = config.Source{
		Driver: config.Postgres, URL: config.NewSecret(server.as("tallyman_probe", "wms")), MaxConnections: 2, StatementTimeout: 5 * time.Second,
	}
	s.rule("stock.yaml", stockRule)
	n := s.start("a")
	n.await(url.Values{"warehouse": {"119240"}, "subscriber": {"role:keeper"}}, 1)
	n.stop()

	upkeep(t, appURL)
	refusedStatements(t, appURL,
		"CREATE TABLE mine (n int)", "CREATE SCHEMA mine", "CREATE TEMP TABLE mine (n int)", "DROP TABLE notices", "DROP TABLE notices_rest", "ALTER TABLE notices ADD COLUMN mine int",
		"TRUNCATE notices", "CREATE INDEX mine ON notices (id)", "UPDATE audit SET actor = 'x'", "DELETE FROM audit", "ALTER TABLE audit DISABLE TRIGGER ALL",
		"SELECT ledger_day('drop', 'audit', '20260601', '', '')", "SELECT ledger_day('drop', 'notices', 'rest', '', '')", "SET ROLE tallyman_owner",
	)
	refusedStatements(t, server.as("tallyman_probe", "wms"),
		"INSERT INTO bin_stock VALUES (1, 'A', 'S', 1)", "UPDATE bin_stock SET qty = 0", "DELETE FROM bin_stock", "SELECT * FROM orders", "CREATE TABLE mine (n int)",
		"SET default_transaction_read_only = off; DELETE FROM bin_stock",
	)
	refusedStatements(t, server.as("tallyman_probe", "tallyman"), "")
}

// upkeep has the application prune the ledger on a later day: partitions of days go and come.
func upkeep(t *testing.T, address string) {
	t.Helper()
	later := time.Now().AddDate(0, 0, 40)
	l, err := pgledger.Open(t.Context(), address, ledger.Options{Now: func() time.Time { return later }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if _, err := l.Prune(t.Context(), later.AddDate(0, 0, -1), 5); err != nil {
		t.Fatal(err)
	}
	conn := connected(t, address)
	for day, want := range map[time.Time]bool{time.Now(): false, later: true} {
		table := "notices_" + notice.DayOf(day).Begin().Format("20060102")
		var found bool
		if err := conn.QueryRow(t.Context(), "SELECT to_regclass($1) IS NOT NULL", table).Scan(&found); err != nil || found != want {
			t.Errorf("partition %s: %t, %v; want %t", table, found, err, want)
		}
	}
}

func connected(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return conn
}

// refusedStatements runs statements that the server must refuse; "" is the connection itself.
func refusedStatements(t *testing.T, address string, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		conn, err := pgx.Connect(t.Context(), address)
		if err == nil {
			_, err = conn.Exec(t.Context(), statement, pgx.QueryExecModeSimpleProtocol)
			_ = conn.Close(t.Context())
		}
		if err == nil {
			t.Errorf("the role may: %s", fmt.Sprintf("%q at %s", statement, address))
		}
	}
}
