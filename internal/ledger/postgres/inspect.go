package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Inspection is what the server of a ledger says about itself and about the role of the URL.
type Inspection struct {
	Version   string
	Now       time.Time
	Asked     time.Duration // How long the question for the time took.
	Creates   bool          // The role may create tables in the schema.
	Superuser bool
	Missing   []string // Rights that a node needs and the role does not have, such as "INSERT on notices".
}

// Inspect asks the server of the URL. The schema of the ledger may be missing or have another version.
func Inspect(ctx context.Context, url string) (_ Inspection, err error) {
	var i Inspection
	cfg, err := parseConnURL(url)
	if err != nil {
		return i, err
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return i, fmt.Errorf("ledger: connect: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	var us int64
	before := time.Now()
	err = conn.QueryRow(ctx, queries.Get("inspect-server"), pgx.QueryExecModeExec).Scan(&i.Version, &us, &i.Creates, &i.Superuser)
	if err != nil {
		return i, failed("inspect", err)
	}
	i.Now, i.Asked = time.UnixMicro(us), time.Since(before)
	i.Missing, err = names(ctx, conn, "missing-rights")
	return i, err
}
