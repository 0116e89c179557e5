package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"tallyman/internal/ledger"
)

const (
	// No node opens the copy, and a journal would only leave another file behind.
	copyPragmas = "?_pragma=journal_mode(OFF)&_pragma=synchronous(OFF)"
	// pagesInStep bounds how long a canceled backup still copies.
	pagesInStep = 1024
)

// Backup copies the ledger at path into the new file to, and returns the size of the copy in bytes. A node may have the
// ledger open and may write meanwhile: the copy has the state of one moment. The new file gets its name when the copy
// is complete, checked and on the disk. A killed process leaves at most a file with the suffix .partial.
//
// Backup returns ErrBackupExists if there is a file with the name to already, and ErrDamaged where the copy has faults.
func Backup(ctx context.Context, path, to string) (size int64, err error) {
	if _, err := os.Stat(path); err != nil {
		return 0, fmt.Errorf("ledger: %w; check the path in ledger.url", err)
	}
	if _, err := os.Lstat(to); err == nil {
		return 0, fmt.Errorf("%w: %s", ledger.ErrBackupExists, to)
	}
	partial, err := os.CreateTemp(filepath.Dir(to), filepath.Base(to)+".*.partial") // mode 0600
	if err != nil {
		return 0, fmt.Errorf("ledger: %w", err)
	}
	defer func() { err = errors.Join(err, partial.Close(), os.Remove(partial.Name())) }()
	err = copySettled(ctx, path, partial.Name())
	switch {
	case isDamage(err):
		return 0, fmt.Errorf("%w: %w", ledger.ErrDamaged, err)
	case err != nil:
		return 0, fmt.Errorf("ledger: back up %s: %w", path, err)
	}
	faults, err := check(ctx, partial.Name(), stillPragmas, "quick-check")
	if err != nil {
		return 0, err
	}
	if len(faults) > 0 {
		return 0, fmt.Errorf("%w: %s", ledger.ErrDamaged, strings.Join(faults, "; "))
	}
	return publish(partial, to)
}

// publish gives the complete file its name, and returns its size in bytes.
func publish(file *os.File, to string) (int64, error) {
	if err := file.Sync(); err != nil {
		return 0, fmt.Errorf("ledger: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return 0, fmt.Errorf("ledger: %w", err)
	}
	// Unlike a rename, a link never replaces a file.
	if err := os.Link(file.Name(), to); errors.Is(err, os.ErrExist) {
		return 0, fmt.Errorf("%w: %s", ledger.ErrBackupExists, to)
	} else if err != nil {
		return 0, fmt.Errorf("ledger: %w; the folder must be on a file system with hard links", err)
	}
	return info.Size(), syncFolder(filepath.Dir(to))
}

// syncFolder writes the names of a folder to the disk. Windows has no such call.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if err := errors.Join(folder.Sync(), folder.Close()); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// copySettled copies the file at path. If no node has the file open, none can open the file until the copy is complete:
// SQLite then reads without locks.
func copySettled(ctx context.Context, path, to string) (err error) {
	pragmas := readingPragmas(path)
	if pragmas == stillPragmas {
		lock, err := lockFile(path)
		switch {
		case errors.Is(err, ledger.ErrInUse):
			pragmas = viewPragmas // A node starts just now.
		case err != nil:
			return err
		default:
			defer func() { err = errors.Join(err, lock.release()) }()
			pragmas = readingPragmas(path)
		}
	}
	return copyPages(ctx, path, pragmas, to)
}

// copyPages copies the pages of the file as of one moment. The transaction on the ledger keeps that moment, so the
// writes of a node neither wait for the copy nor make it begin again. VACUUM INTO would make a smaller copy, but builds
// every index again, which takes twice as long.
func copyPages(ctx context.Context, path, pragmas, to string) (err error) {
	db, err := openDB(path, pragmas)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var tables int
	if err := tx.QueryRowContext(ctx, queries.Get("snapshot")).Scan(&tables); err != nil {
		return err
	}
	return conn.Raw(func(c any) error {
		source, ok := c.(interface {
			NewBackup(uri string) (*driver.Backup, error)
		})
		if !ok {
			return fmt.Errorf("the driver has no online backup: %T", c)
		}
		b, err := source.NewBackup(dsn(to, copyPragmas))
		if err != nil {
			return err
		}
		return errors.Join(stepAll(ctx, b), b.Finish())
	})
}

func stepAll(ctx context.Context, b *driver.Backup) error {
	for {
		more, err := b.Step(pagesInStep)
		if err != nil || !more {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// CheckIntegrity reads the whole file at path and returns the first faults of its pages and indexes. It takes no lock:
// a node may have the file open and may write.
func CheckIntegrity(ctx context.Context, path string) (faults []string, err error) {
	pragmas := readingPragmas(path)
	faults, err = check(ctx, path, pragmas, "integrity-check")
	if (err != nil || len(faults) > 0) && pragmas != readingPragmas(path) {
		return check(ctx, path, viewPragmas, "integrity-check") // A node began to write during the check.
	}
	return faults, err
}

// check runs one of the checks of a file. It returns no faults for an undamaged file.
func check(ctx context.Context, path, pragmas, name string) (faults []string, err error) {
	db, err := openDB(path, pragmas)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var line string
	err = each(ctx, db, name, nil, []any{&line}, func() error {
		if line != "ok" {
			faults = append(faults, line)
		}
		return nil
	})
	switch {
	case isDamage(err):
		return append(faults, err.Error()), nil
	case err != nil:
		return nil, fmt.Errorf("ledger: check %s: %w", path, err)
	}
	return faults, nil
}

// isDamage tells whether SQLite found that the file is damaged, or is no database.
func isDamage(err error) bool {
	var failure *driver.Error
	if !errors.As(err, &failure) {
		return false
	}
	code := failure.Code() & 0xff
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}
