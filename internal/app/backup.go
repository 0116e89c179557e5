package app

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/config"
	"tallyman/internal/ledger/sqlite"
)

// Backup describes the copy of a ledger.
type Backup struct {
	File  string
	Bytes int64
	Took  time.Duration
}

// ServerError says that the ledger is in PostgreSQL. Dump is the command that backs up such a ledger.
type ServerError struct{ Dump string }

func (e *ServerError) Error() string {
	return "backup_postgresql: the ledger is in PostgreSQL, and tallyman backup copies SQLite ledgers only; run " + e.Dump +
		": docs/how-to/back-up-and-restore.md"
}

// BackUp copies the configured SQLite ledger into a new file. Nodes may have the ledger open. For a ledger in
// PostgreSQL the error is a ServerError, or says that ledger.url cannot be parsed. Other errors come from
// sqlite.Backup.
func BackUp(ctx context.Context, cfg *config.Config, file string) (*Backup, error) {
	if cfg.Ledger.Driver != config.SQLite {
		server, err := pgx.ParseConfig(cfg.Ledger.URL.Reveal())
		if err != nil {
			return nil, fmt.Errorf("ledger.url: %w", err)
		}
		return nil, &ServerError{Dump: "pg_dump --format=custom --file=" + file + " " + server.Database}
	}
	began := time.Now()
	size, err := sqlite.Backup(ctx, cfg.Ledger.Path, file)
	if err != nil {
		return nil, err
	}
	return &Backup{File: file, Bytes: size, Took: time.Since(began)}, nil
}
