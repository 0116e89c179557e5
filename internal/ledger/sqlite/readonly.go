package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"tallyman/internal/ledger"
)

// What a ledger is opened with that nobody may write through. The file is never made.
const (
	viewPragmas = "?mode=ro&_pragma=busy_timeout(10000)&_pragma=query_only(1)"
	// For a file that no node has open. Else SQLite would leave files beside it, whose owner is whoever looked, and the
	// node could not write them.
	stillPragmas = "?mode=ro&immutable=1&_pragma=query_only(1)"
)

// OpenReadOnly is Open for reading, also while a node has the file. It takes no lock, and everything that would write fails.
// Of a file that no node has open when it is opened it sees the state of that moment.
func OpenReadOnly(ctx context.Context, path string, opts ledger.Options) (*Ledger, error) {
	if err := exists(path); err != nil {
		return nil, err
	}
	pragmas := viewPragmas
	if _, err := os.Stat(path + "-wal"); errors.Is(err, os.ErrNotExist) {
		pragmas = stillPragmas
	}
	return openView(ctx, path, pragmas, opts)
}

func openView(ctx context.Context, path, pragmas string, opts ledger.Options) (*Ledger, error) {
	write, err := sql.Open("sqlite", dsn(path, pragmas))
	if err != nil {
		return nil, fmt.Errorf("ledger: open %s: %w", path, err)
	}
	l, err := openReaders(path, pragmas, &Ledger{write: write}, opts)
	if err != nil {
		return nil, err
	}
	if err := l.checkSchema(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}
