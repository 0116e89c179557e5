package app_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"tallyman/internal/config"
	"tallyman/internal/testenv"
)

// wmsDB is a WMS database that tests write and Tallyman reads.
type wmsDB struct {
	t  testing.TB
	db *sql.DB
}

const stockTable = `CREATE TABLE bin_stock (wh_id BIGINT NOT NULL, bin_code TEXT NOT NULL, sku TEXT NOT NULL, qty NUMERIC NOT NULL)`

// sqliteWMS gives the site a source "wms" in a file of its own.
func (s *site) sqliteWMS() *wmsDB {
	s.t.Helper()
	path := filepath.Join(s.dir, "wms.db")
	s.cfg.Sources["wms"] = config.Source{Driver: config.SQLite, Path: path, MaxConnections: 2, StatementTimeout: 5 * time.Second}
	return openWMS(s.t, "sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)")
}

// postgresWMS gives the site a source "wms" on a real PostgreSQL.
func (s *site) postgresWMS() *wmsDB {
	s.t.Helper()
	url := testenv.Postgres(s.t)
	s.cfg.Sources["wms"] = config.Source{Driver: config.Postgres, URL: config.NewSecret(url), MaxConnections: 2, StatementTimeout: 5 * time.Second}
	return openWMS(s.t, "pgx", url)
}

func openWMS(t testing.TB, driver, dsn string) *wmsDB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	w := &wmsDB{t: t, db: db}
	w.exec(stockTable)
	return w
}

func (w *wmsDB) exec(query string) {
	w.t.Helper()
	if _, err := w.db.ExecContext(context.Background(), query); err != nil {
		w.t.Fatal(err)
	}
}

// environments are the embedded default and real servers; each prepares a site and makes its WMS.
var environments = map[string]func(*site) *wmsDB{
	"embedded":     (*site).sqliteWMS,
	"real servers": func(s *site) *wmsDB { s.realServers(); return s.postgresWMS() },
}
