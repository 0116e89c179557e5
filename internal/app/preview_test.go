package app_test

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tallyman/engine/trial/preview"
	"tallyman/internal/app"
	"tallyman/internal/authoring"
	"tallyman/internal/config"
)

// contents is everything that a database holds, down to the versions of its rows; of a SQLite file its bytes.
func contents(t *testing.T, driver config.Driver, path, url string) string {
	t.Helper()
	if driver == config.SQLite {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var b strings.Builder
	for _, table := range column(t, db, `SELECT format('%I.%I', schemaname, tablename) FROM pg_tables
		WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`) {
		b.WriteString(table + "\n" + strings.Join(column(t, db, "SELECT xmin::text || ' ' || t::text FROM "+table+" t ORDER BY 1"), "\n") + "\n")
	}
	if b.Len() == 0 {
		t.Fatal("no table")
	}
	return b.String()
}

func column(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// contents is what ledger and WMS hold.
func (s *site) contents() string {
	t, l, wms := s.t.(*testing.T), s.cfg.Ledger, s.cfg.Sources["wms"]
	return contents(t, l.Driver, l.Path, l.URL.Reveal()) + contents(t, wms.Driver, wms.Path, wms.URL.Reveal())
}

// besideLedger are the files of the folder, of which those of an SQLite ledger matter.
func (s *site) besideLedger() []string {
	found, err := filepath.Glob(filepath.Join(s.dir, "ledger*"))
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

// A preview and a comparison go on from the ledger, beside a node that runs and without one, and write nothing: not
// into the ledger, not into the WMS.
func TestPreviewsAndComparisonsWriteNothing(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*site) *wmsDB{
		"sqlite":   (*site).sqliteWMS,
		"postgres": func(s *site) *wmsDB { s.realServers(); return s.postgresWMS() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			wms := prepare(s)
			s.rule("stock.yaml", stockRule)
			s.write("new.yaml", strings.Replace(stockRule, "when: qty < 0", "when: qty < -5", 1))
			wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3), (119240, 'A-02', 'S2', -9)`)
			n := s.start("one")
			n.await(nil, 2)
			s.look(t) // beside the node
			code, body := n.do(http.MethodPost, "/api/v1/rules/negative-bin-stock/preview", "application/json", `{"limit":1}`)
			if code != http.StatusOK || !strings.Contains(body, `"fate":"goes_on"`) || !strings.Contains(body, `"leftOut":{"rows":1,`) || !strings.Contains(body, `"known":true`) {
				t.Errorf("%d %s", code, body)
			}
			if code, body = n.do(http.MethodPost, "/api/v1/rules/negative-bin-stock/preview", "application/json", `{"at":"noon"}`); code != http.StatusUnprocessableEntity {
				t.Errorf("%d %s", code, body)
			}
			if code, body = n.do(http.MethodPost, "/api/v1/rules/negative-bin-stok/preview", "application/json", `{}`); code != http.StatusNotFound || !strings.Contains(body, "did you mean") {
				t.Errorf("%d %s", code, body)
			}
			n.stop()
			_ = wms.db.Close()
			before, beside := s.contents(), s.besideLedger()
			s.look(t)
			if after := s.contents(); after != before {
				t.Error("something was written")
			}
			if after := s.besideLedger(); !slices.Equal(after, beside) {
				t.Errorf("the ledger was left with %q, before there were %q", after, beside)
			}
		})
	}
}

// look previews the rule, and compares it with its new version.
func (s *site) look(t *testing.T) {
	t.Helper()
	p, err := app.Authoring().Preview(t.Context(), s.cfg, authoring.PreviewOptions{Rule: "negative-bin-stock"})
	if err != nil {
		t.Fatal(err)
	}
	r := p.Report
	if r.Start.From != preview.FromLedger || r.Start.Firing != 2 || len(r.Rows) != 2 || r.Rows[0].Fate != preview.GoesOn || r.Counts.Notices != 0 {
		t.Fatalf("%+v", r)
	}
	d, err := app.Authoring().Diff(t.Context(), s.cfg, authoring.DiffOptions{
		Old: s.cfg.Rules.Paths, New: []string{filepath.Join(s.dir, "new.yaml")}, Run: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if e := d.Rules[0].Effect; e == nil || !slices.Equal(e.Resolve.Keys, []string{`[119240,"A-01","S1"]`}) || e.Unchanged.Count != 1 || e.Again.Count != 0 {
		t.Fatalf("%+v", d.Rules)
	}
}

func TestAPreviewWithoutALedger(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	wms := s.sqliteWMS()
	s.rule("stock.yaml", stockRule)
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	s.cfg.Ledger = config.Ledger{Driver: config.Postgres, URL: config.NewSecret("postgres://tallyman:hunter2@127.0.0.1:1/x?connect_timeout=2")}
	p, err := app.Authoring().Preview(t.Context(), s.cfg, authoring.PreviewOptions{Rule: "negative-bin-stock"})
	if err != nil {
		t.Fatal(err)
	}
	r := p.Report
	if r.Start.From != preview.FromNone || r.Start.Reason == "" || strings.Contains(r.Start.Reason, "hunter2") || r.Rows[0].Fate != preview.Fires {
		t.Errorf("%+v", r.Start)
	}
	if to := r.Notices[0].To; len(to) != 1 || !slices.Equal(to[0].Recipients, []string{"role:keeper"}) {
		t.Errorf("not the seed: %+v", to)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := app.Authoring().Preview(ctx, s.cfg, authoring.PreviewOptions{Rule: "negative-bin-stock"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
