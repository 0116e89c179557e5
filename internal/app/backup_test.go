package app_test

import (
	"errors"
	"path/filepath"
	"testing"

	"tallyman/docs/codetest"
	"tallyman/internal/app"
	"tallyman/internal/config"
)

// The error of a ledger in PostgreSQL names the command, and no password.
func TestBackUpOfAServer(t *testing.T) {
	t.Parallel()
	cfg := &config.Config{Ledger: config.Ledger{Driver: config.Postgres, URL: config.NewSecret("postgres://app:secret@db.example.com/tallyman")}}
	_, err := app.BackUp(t.Context(), cfg, "ledger.dump")
	if _, ok := errors.AsType[*app.ServerError](err); !ok {
		t.Fatalf("got %v", err)
	}
	codetest.Outcome(t, codesPage, "The ledger", "backup_postgresql", err.Error()+"\n")
}

func TestBackUpOfAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := &config.Config{Ledger: config.Ledger{Driver: config.SQLite, Path: filepath.Join(dir, "tallyman.db")}}
	if _, err := app.Migrate(t.Context(), cfg, app.MigrateOptions{}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "copy.db")
	if b, err := app.BackUp(t.Context(), cfg, file); err != nil || b.File != file || b.Bytes < 4096 || b.Took <= 0 {
		t.Errorf("got %+v, %v", b, err)
	}
}
