package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"tallyman/scanners"
)

// ScratchSpec says how a scanners.Scratch is created and dropped.
type ScratchSpec struct {
	Maker, Owner driver.Connector // Maker creates and drops the schema, Owner writes in it
	Exists       string           // a SELECT that counts the schemas of that name
	Make, Drop   []string
}

// MakeScratch creates the schema and sets the functions of the scratch. If a statement fails, the schema is dropped
// again.
func MakeScratch(ctx context.Context, spec ScratchSpec, s *scanners.Scratch) (*scanners.Scratch, error) {
	maker := sql.OpenDB(spec.Maker)
	var n int
	if err := maker.QueryRowContext(ctx, spec.Exists).Scan(&n); err != nil {
		return nil, errors.Join(err, maker.Close())
	}
	if n > 0 {
		return nil, errors.Join(scanners.ErrSchemaExists, maker.Close())
	}
	for i, statement := range spec.Make {
		if _, err := maker.ExecContext(ctx, statement); err != nil {
			if i > 0 {
				err = errors.Join(err, run(context.WithoutCancel(ctx), maker, spec.Drop))
			}
			return nil, errors.Join(err, maker.Close())
		}
	}
	owner := sql.OpenDB(spec.Owner)
	s.Exec = func(ctx context.Context, statement string) error { return run(ctx, owner, []string{statement}) }
	s.Drop = func(ctx context.Context) error {
		return errors.Join(owner.Close(), run(ctx, maker, spec.Drop), maker.Close())
	}
	return s, nil
}

func run(ctx context.Context, db *sql.DB, statements []string) error {
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
