package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"tallyman/scanners"
)

// Scratch creates a file with this name in the folder of the source's file.
func Scratch(ctx context.Context, c Config, name string) (*scanners.Scratch, error) {
	file, err := filepath.Abs(filepath.Join(filepath.Dir(strings.TrimPrefix(c.URL, "sqlite:")), name))
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, scanners.ErrSchemaExists
	}
	if err != nil {
		return nil, err
	}
	_ = f.Close() // nothing was written
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(file), RawQuery: "_pragma=busy_timeout(10000)"}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, errors.Join(err, os.Remove(file))
	}
	exec := func(ctx context.Context, statement string) error {
		_, err := db.ExecContext(ctx, statement)
		return err
	}
	c.URL = "sqlite:" + file
	s := &scanners.Scratch{Config: c, Schema: "main", Bare: true, Exec: exec, Drop: func(context.Context) error {
		err := db.Close()
		for _, path := range []string{file, file + "-wal", file + "-shm"} {
			if gone := os.Remove(path); !errors.Is(gone, fs.ErrNotExist) {
				err = errors.Join(err, gone)
			}
		}
		return err
	}}
	if err := exec(ctx, "PRAGMA journal_mode = WAL"); err != nil { // so that a writer does not block readers
		return nil, errors.Join(err, s.Drop(context.WithoutCancel(ctx)))
	}
	return s, nil
}
