package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	sqlite3 "modernc.org/sqlite/lib"

	"tallyman/internal/app"
	"tallyman/internal/authoring"
	"tallyman/internal/config"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/postgres"
)

const (
	leastPostgres = 14
	mostNamed     = 5 // Names in a finding.
)

func checkLedger(ctx context.Context, cfg *config.Config, _ Options) []Finding {
	if cfg.Ledger.Driver == config.SQLite {
		return checkSQLite(ctx, cfg)
	}
	before := time.Now()
	server, err := postgres.Inspect(ctx, cfg.Ledger.URL.Reveal())
	after := time.Now()
	if err != nil {
		return []Finding{wrong(CodeLedgerReach, "", err.Error(), "start PostgreSQL, or correct ledger.url: docs/runbooks/ledger-out-of-reach.md")}
	}
	list := []Finding{ok(CodeLedgerReach, "", "PostgreSQL %s", server.Version)}
	if major, _, _ := strings.Cut(server.Version, "."); number(major) < leastPostgres {
		list[0] = wrong(CodeLedgerReach, "", "PostgreSQL "+server.Version+" is too old", "take PostgreSQL 14 or newer")
	}
	list = append(list, checkSchema(ctx, cfg), clock(CodeLedgerClock, "", server.Now, before, after), ledgerRights(&server))
	return append(list, postgresCertificate(ctx, "ledger", cfg.Ledger.URL.Reveal())...)
}

// number reads a whole number from the text. It returns 0 where the text is no number.
func number(text string) int {
	n, _ := strconv.Atoi(text) // 0 is a version that is too old.
	return n
}

func checkSQLite(ctx context.Context, cfg *config.Config) []Finding {
	reach := ok(CodeLedgerReach, "", "SQLite %s, %s", sqlite3.SQLITE_VERSION, cfg.Ledger.Path)
	if _, err := os.Stat(cfg.Ledger.Path); errors.Is(err, os.ErrNotExist) {
		reach.Found += " is not there yet; `tallyman serve` makes it"
		return []Finding{reach}
	}
	return []Finding{reach, checkSchema(ctx, cfg)}
}

// checkSchema looks whether this program can use the schema.
func checkSchema(ctx context.Context, cfg *config.Config) Finding {
	l, err := app.OpenLedgerReadOnly(ctx, cfg.Ledger)
	switch {
	case err == nil:
		_ = l.Close() // The ledger was opened only for the check.
		steps, err := app.MigrateStatus(ctx, cfg)
		return schemaOf(steps, err)
	case errors.Is(err, ledger.ErrSchema):
		return wrong(CodeLedgerSchema, "", err.Error(), "run `tallyman migrate status`, then `tallyman migrate up` as the owner of the tables")
	}
	return wrong(CodeLedgerSchema, "", err.Error(), "docs/reference/error-codes.md has the code of this error")
}

// ledgerRights checks whether the role has the rights that a node needs, and no others.
func ledgerRights(server *postgres.Inspection) Finding {
	const way = "`tallyman init --sql postgres` prints the roles and their rights: docs/how-to/set-up-postgresql.md"
	switch {
	case len(server.Missing) > 0:
		return wrong(CodeLedgerRights, "", "the role lacks "+named(server.Missing), way)
	case server.Superuser:
		return warning(CodeLedgerRights, "", "the role is a superuser", way)
	case server.Creates:
		return warning(CodeLedgerRights, "", "the role may create tables, which a node does not need", way)
	}
	return ok(CodeLedgerRights, "", "the role may do what a node needs, and may not change tables")
}

// named lists the first mostNamed names, and counts the other names.
func named(names []string) string {
	if len(names) <= mostNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNamed], ", "), len(names)-mostNamed)
}

// clock returns the finding about the clock of a server. before and after are this machine's times of the question and
// the answer.
func clock(code, about string, server, before, after time.Time) Finding {
	if apart := authoring.ClockApart(server, before, after); apart != "" {
		return warning(code, about, "the server's clock is "+apart, apartOut)
	}
	return ok(code, about, "the server's clock agrees with this machine's")
}

// postgresCertificate looks when the certificate of a PostgreSQL server ends. A server without TLS gives no finding.
func postgresCertificate(ctx context.Context, about, url string) []Finding {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil // Another finding has the error.
	}
	defer func() { _ = conn.Close(ctx) }()
	secured, isTLS := conn.PgConn().Conn().(*tls.Conn)
	if !isTLS {
		return nil
	}
	return []Finding{ends(about, firstEnd(secured.ConnectionState().PeerCertificates))}
}
