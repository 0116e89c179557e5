package postgres_test

import (
	"slices"
	"strings"
	"testing"

	"tallyman/scanners"
	"tallyman/scanners/postgres"
	"tallyman/scanners/scannertest"
)

// TestDangers runs as the role that tallyman init --sql prints, and then runs the proposed SQL. Afterwards no danger is left, and
// probes work as before.
func TestDangers(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	exec(t, x.owner, `CREATE FUNCTION dblink_exec(text) RETURNS text LANGUAGE sql AS 'SELECT $1'; GRANT EXECUTE ON FUNCTION pg_read_file(text) TO `+x.role+`; GRANT INSERT, UPDATE ON bin_stock TO `+x.role)
	s := x.open(t)
	before, err := s.Dangers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]scanners.Danger{
		"ts_stat":                 {Name: "ts_stat(query text, OUT word text, OUT ndoc integer, OUT nentry integer)", Does: "runs SQL that cannot be checked here"},
		"pg_terminate_backend":    {Does: "acts on the server", Revoke: "FROM PUBLIC;"},
		"pg_logical_emit_message": {Does: "acts on the server", Revoke: `REVOKE EXECUTE ON FUNCTION pg_catalog."pg_logical_emit_message"(boolean, text, text) FROM PUBLIC;`},
		"lo_create":               {Does: "writes", Revoke: `REVOKE EXECUTE ON FUNCTION pg_catalog."lo_create"(oid) FROM PUBLIC;`},
		"query_to_xml":            {Does: "runs SQL"},
		"public.dblink_exec":      {Does: "reaches another server", Revoke: `public."dblink_exec"(text)`},
		"pg_read_file":            {Does: "reaches the server's files", Revoke: "FROM " + x.role + ";"},
		"INSERT, UPDATE on tables of schema public": {Does: "changes rows", Revoke: "REVOKE INSERT, UPDATE ON ALL TABLES IN SCHEMA public FROM " + x.role + ";"},
	} {
		if !slices.ContainsFunc(before, func(d scanners.Danger) bool {
			return (d.Name == name || strings.HasPrefix(d.Name, name+"(")) && strings.Contains(d.Name, want.Name) && strings.Contains(d.Does, want.Does) && strings.Contains(d.Revoke, want.Revoke)
		}) {
			t.Errorf("%s: want %+v in %+v", name, want, before)
		}
	}
	for _, d := range before {
		if strings.HasPrefix(d.Name, "pg_advisory") || strings.HasPrefix(d.Name, "nextval") || strings.HasPrefix(d.Name, "set_config") {
			t.Errorf("a WMS needs %s", d.Name)
		}
		exec(t, x.owner, d.Revoke)
	}
	after, err := s.Dangers(t.Context())
	if err != nil || len(after) != 0 {
		t.Errorf("after the REVOKEs: %+v, %v", after, err)
	}
	stmt := "SELECT wh_id, qty FROM bin_stock WHERE qty < 0"
	if _, err := s.Prepare(t.Context(), scannertest.Parse(t, stmt)); err != nil {
		t.Errorf("after the REVOKEs: %v", err)
	}
	super, err := open(t, postgres.Config{URL: x.owner}).Dangers(t.Context())
	if err != nil || len(super) != 1 || super[0].Name != "SUPERUSER" {
		t.Errorf("a superuser: %+v, %v", super, err)
	}
}
