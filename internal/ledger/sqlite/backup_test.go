package sqlite_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/docs/codetest"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/sqlite"
	"tallyman/internal/testenv"
)

const codesPage = "../../../docs/reference/error-codes.md"

// fill makes the file so large that a copy takes a while.
func fill(t *testing.T, path string) {
	t.Helper()
	db := openBeside(t, path)
	_, err := db.ExecContext(t.Context(), `CREATE TABLE filler (b BLOB);
INSERT INTO filler WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 2000) SELECT zeroblob(10000) FROM n`)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// isWell checks that the copy has no faults, and that nobody else may read the copy.
func isWell(t *testing.T, copied string) {
	t.Helper()
	if faults, err := sqlite.CheckIntegrity(t.Context(), copied); err != nil || len(faults) > 0 {
		t.Errorf("the copy has faults: %v, %v", faults, err)
	}
	info, err := os.Stat(copied)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("the mode of the copy is %o", mode)
	}
}

// A node commits while the backup runs, and does not wait for its end. The copy has what was committed before, and is
// a ledger that a node can open.
func TestBackupOfALiveLedger(t *testing.T) {
	t.Parallel()
	path := migrated(t)
	fill(t, path)
	node := open(t, path, ledger.Options{})
	var commits atomic.Int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for n := 1; ; n++ {
			select {
			case <-stop:
				return
			default:
				commit(t, node, n)
				commits.Store(int64(n))
			}
		}
	}()
	var copied string
	var first, last int64
	testenv.Eventually(t, func() bool { // Until the node has committed while the pages were copied.
		copied = filepath.Join(t.TempDir(), "copy.db")
		first = commits.Load()
		size, err := sqlite.Backup(t.Context(), path, copied)
		if err != nil {
			t.Fatal(err)
		}
		last = commits.Load()
		if info, err := os.Stat(copied); err != nil || info.Size() != size {
			t.Errorf("the size of the copy is %d, not %v, %v", size, info, err)
		}
		return first > 0 && last > first
	}, 60*time.Second)
	close(stop)
	<-stopped
	isWell(t, copied)
	if files := beside(t, copied); len(files) != 1 {
		t.Errorf("the backup left %v", files)
	}
	list, err := open(t, copied, ledger.Options{}).Findings(t.Context(), "r", "")
	if n := int64(len(list)); err != nil || n < first || n > last {
		t.Errorf("the copy has %d commits; %d had ended when the backup began, and %d when the backup ended: %v", n, first, last, err)
	}
}

// The backup of a ledger that no node has open leaves the ledger as it is, and no node can open the ledger meanwhile.
func TestBackupOfAStillLedger(t *testing.T) {
	t.Parallel()
	path := migrated(t)
	commit(t, open(t, path, ledger.Options{}), 1) // Its -wal file is there: the copy has what that file has.
	dir := t.TempDir()
	copied := filepath.Join(dir, "copy.db")
	if _, err := sqlite.Backup(t.Context(), path, copied); err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(dir, "again.db")
	before := beside(t, copied)
	if _, err := sqlite.Backup(t.Context(), copied, again); err != nil { // No -wal file is beside the copy.
		t.Fatal(err)
	}
	if got := len(beside(t, copied)); got != len(before)+2 { // The second copy, and the lock.
		t.Errorf("there were %v, and are %v", before, beside(t, copied))
	}
	for _, file := range []string{copied, again} {
		isWell(t, file)
		hasFindings(t, openView(t, file), 1)
	}
}

func TestBackupReplacesNothing(t *testing.T) {
	t.Parallel()
	path, dir := migrated(t), t.TempDir()
	copied := filepath.Join(dir, "copy.db")
	if err := os.WriteFile(copied, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := sqlite.Backup(t.Context(), path, copied)
	if !errors.Is(err, ledger.ErrBackupExists) {
		t.Fatalf("got %v", err)
	}
	codetest.Outcome(t, codesPage, "The ledger", "backup_exists", strings.ReplaceAll(err.Error(), copied, "tallyman.db")+"\n")
	if text, err := os.ReadFile(copied); err != nil || string(text) != "mine" {
		t.Errorf("the file is %q, %v", text, err)
	}
	if files := beside(t, copied); len(files) != 1 {
		t.Errorf("the backup left %v", files)
	}
	none := filepath.Join(dir, "none.db")
	if _, err := sqlite.Backup(t.Context(), none, filepath.Join(dir, "new.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no ledger: %v", err)
	}
	if files := beside(t, copied); len(files) != 1 {
		t.Errorf("the backup left %v", files)
	}
}

// A backup of a damaged ledger is no backup, and a canceled backup is none either.
func TestFailedBackupLeavesNothing(t *testing.T) {
	t.Parallel()
	path, dir := migrated(t), t.TempDir()
	fill(t, path)
	copied := filepath.Join(dir, "copy.db")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sqlite.Backup(canceled, path, copied); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteAt([]byte(strings.Repeat("damage", 1000)), 40*4096)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Backup(t.Context(), path, copied); !errors.Is(err, ledger.ErrDamaged) {
		t.Errorf("a damaged ledger: %v", err)
	}
	codetest.Outcome(t, codesPage, "The ledger", "backup_damaged", ledger.ErrDamaged.Error()+"\n")
	if files := beside(t, copied); len(files) > 0 {
		t.Errorf("the backups left %v", files)
	}
	if faults, err := sqlite.CheckIntegrity(t.Context(), path); err != nil || len(faults) == 0 {
		t.Errorf("the damaged ledger has no faults: %v", err)
	}
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is a text, no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if faults, err := sqlite.CheckIntegrity(t.Context(), text); err != nil || len(faults) == 0 {
		t.Errorf("a text has no faults: %v", err)
	}
}

// backUp makes the test binary a process that backs up the ledger into a file beside it.
const backUp = "LEDGER_BACKED_UP_BY_THIS_PROCESS"

func TestBackUp(t *testing.T) {
	path := os.Getenv(backUp)
	if path == "" {
		return // this is not the process that TestKilledBackup starts
	}
	if _, err := sqlite.Backup(t.Context(), path, path+".copy"); err != nil {
		t.Fatal(err)
	}
}

// A backup that is killed leaves no half file under its name.
func TestKilledBackup(t *testing.T) {
	t.Parallel()
	path := migrated(t)
	fill(t, path)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBackUp$")
	cmd.Env = append(os.Environ(), backUp+"="+path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() bool {
		partial, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.partial"))
		if err != nil || len(partial) == 0 {
			return false
		}
		info, err := os.Stat(partial[0])
		return err == nil && info.Size() > 0
	}, 30*time.Second)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	if _, err := os.Stat(path + ".copy"); err == nil {
		isWell(t, path+".copy") // The process was fast.
	} else if !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	copied := path + ".next"
	if _, err := sqlite.Backup(t.Context(), path, copied); err != nil {
		t.Fatal(err)
	}
	isWell(t, copied)
}
