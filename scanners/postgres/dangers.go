package postgres

import (
	"context"
	_ "embed"

	"github.com/jackc/pgx/v5/pgconn"

	"tallyman/rules/probe"
	"tallyman/scanners"
)

//go:embed dangers.sql
var dangersSQL string

// Dangers returns the functions that the user may execute and that act on the server, reach its files or another server, write, or run SQL from a text. A superuser may do
// everything, so that nothing else is said of one.
func (s *Source) Dangers(ctx context.Context) ([]scanners.Danger, error) {
	var found [][]string
	err := s.inspect(ctx, func(ctx context.Context, conn *pgconn.PgConn) (err error) {
		found, err = s.query(ctx, conn, dangersSQL)
		return err
	})
	var dangers []scanners.Danger
	for _, values := range found {
		name, bare, arguments, schema, grantee := values[0], values[1], values[2], values[3], values[4]
		if name == "" && bare == "SUPERUSER" {
			return []scanners.Danger{{Name: "SUPERUSER", Does: "may do everything", Revoke: "ALTER ROLE " + grantee + " NOSUPERUSER;"}}, err
		}
		if name == "" {
			dangers = append(dangers, scanners.Danger{Name: bare, Does: "is a role with rights over the server", Revoke: "REVOKE " + bare + " FROM " + grantee + ";"})
			continue
		}
		does, found := dangerous(bare)
		if !found {
			continue
		}
		if grantee == "" {
			grantee = "PUBLIC"
		}
		dangers = append(dangers, scanners.Danger{
			Name: name + "(" + arguments + ")", Does: does, Revoke: "REVOKE EXECUTE ON FUNCTION " + schema + "." + quoted(bare) + "(" + arguments + ") FROM " + grantee + ";",
		})
	}
	return dangers, err
}

// dangerous tells what a function does whose effect a rollback does not undo. Functions that change a session, take locks or move a sequence are not among them:
// the first two end with the scan, a read-only transaction refuses the third, and a WMS needs them.
func dangerous(bare string) (does string, found bool) {
	if runsText[bare] {
		return "runs SQL that it is given as a text", true
	}
	refusal, found := probe.Refuse(bare)
	if !found || refusal.Code != probe.CodeFunction || bare == "nextval" || bare == "setval" {
		return "", false
	}
	return refusal.Does, true
}

var _ scanners.Auditor = (*Source)(nil)
