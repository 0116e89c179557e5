package app_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/app"
	"tallyman/internal/authoring"
)

// TestDraftsOfAttacks sends probes that would end another session over every way that tries a probe: a draft and a preview over HTTP, `rules check --source`
// and a new rule file. Each is refused before anything of it runs.
func TestDraftsOfAttacks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.realServers()
	wms := s.postgresWMS()
	s.rule("stock.yaml", stockRule)
	victim, err := pgx.Connect(t.Context(), s.cfg.Sources["wms"].URL.Reveal()+"&application_name=victim")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = victim.Close(context.WithoutCancel(t.Context())) }()
	wms.exec(`CREATE VIEW killer AS SELECT pg_terminate_backend(pid) AS gone FROM pg_stat_activity WHERE application_name = 'victim';
		CREATE FUNCTION kill() RETURNS boolean LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN (SELECT bool_or(gone) FROM killer); END $$`)
	n := s.start("one")
	for where, code := range map[string]string{
		`AND (SELECT bool_or(U&"pg\005fterminate\005fbackend"(pid)) FROM pg_stat_activity)`: "sql_escaped",
		"AND (SELECT bool_or(pg_terminate_backend(pid)) FROM pg_stat_activity)":             "sql_function",
		"AND (SELECT bool_or(gone) FROM killer)":                                            "probe_function",
		"AND kill()":                                                                        "probe_function",
	} {
		attack := strings.Replace(stockEntry, "< :threshold", "< :threshold "+where, 1)
		if status, d := n.drafts(attack); status != http.StatusOK || len(d.Problems) != 1 || d.Problems[0].Code != code || d.Preview != nil || d.Effect != nil {
			t.Errorf("%s: %d %+v", where, status, d)
		}
		file := filepath.Join(t.TempDir(), "attack.yaml")
		if err := os.WriteFile(file, []byte(strings.Replace(stockRule, "< :threshold", "< :threshold "+where, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		checked, err := app.Authoring().Check(t.Context(), s.cfg, authoring.CheckOptions{Paths: []string{file}, Live: true})
		if err != nil || len(checked.Problems) != 1 || checked.Problems[0].Code != code {
			t.Errorf("%s: %+v, %v", where, checked.Problems, err)
		}
		if err := victim.Ping(t.Context()); err != nil {
			t.Fatalf("%s: the other session was ended: %v", where, err)
		}
	}
}
