package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tallyman/docs/codetest"
)

// upgradeFrom names the file with the commit whose program is the old version of the tests of upgrades. The commit has
// the last change of the baseline.
const upgradeFrom = "testdata/upgrade_from"

// root is the folder of the repository.
const root = "../.."

// oldCommit returns the commit of the old version, after it has made sure that the history has this commit.
func oldCommit(t *testing.T) string {
	t.Helper()
	commit := strings.TrimSpace(codetest.ReadFile(t, upgradeFrom))
	has := func() bool { return exec.Command("git", "-C", root, "cat-file", "-e", commit+"^{commit}").Run() == nil }
	if !has() {
		// A shallow clone lacks old commits. Servers give a single commit, too.
		_ = exec.Command("git", "-C", root, "fetch", "--quiet", "--depth=1", "origin", commit).Run()
	}
	if !has() {
		t.Fatalf("the history lacks commit %s, which %s names; run git fetch --unshallow, or clone the repository with its history", commit, upgradeFrom)
	}
	return commit
}

// The baseline of the old version must be that of this version. Otherwise the old version's ledger is no ledger of this
// version, and the tests of upgrades show nothing.
func TestTheOldVersionHasTheBaseline(t *testing.T) {
	t.Parallel()
	commit := oldCommit(t)
	for _, engine := range []string{"postgres", "sqlite"} {
		file := "internal/ledger/" + engine + "/migrations/00100_ledger.sql"
		old, err := exec.Command("git", "-C", root, "show", commit+":"+file).Output()
		if err != nil {
			t.Errorf("git show %s:%s: %v", commit, file, err)
			continue
		}
		if string(old) != codetest.ReadFile(t, filepath.Join(root, file)) {
			t.Errorf("%s differs from that of commit %.12s; after 0.1.0 add a step instead of a change. "+
				"Before 0.1.0, commit the change, and write the id of that commit into internal/e2e/%s", file, commit, upgradeFrom)
		}
	}
}

// buildOld builds the program of the old version. Source and program stay in the cache of the user, so that there is
// nothing to do the next time.
func buildOld(t *testing.T) string {
	t.Helper()
	commit := oldCommit(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(cache, "tallyman-e2e", commit)
	if _, err := os.Stat(source); err != nil {
		unpack(t, commit, source)
	}
	file := filepath.Join(source, "bin", "tallyman")
	build(t, source, "-ldflags=-s -w", "-o", file)
	return file
}

// unpack writes the files of the commit into a new folder. Of several processes that do so at once, one wins.
func unpack(t *testing.T, commit, folder string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(folder), 0o750); err != nil {
		t.Fatal(err)
	}
	begun, err := os.MkdirTemp(filepath.Dir(folder), "unpack-") //nolint:usetesting // a rename needs the file system of the cache
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(begun) }()
	archive := filepath.Join(begun, "source.tar")
	if out, err := exec.Command("git", "-C", root, "archive", "--output", archive, commit).CombinedOutput(); err != nil {
		t.Fatalf("git archive: %v\n%s", err, out)
	}
	source := filepath.Join(begun, "source")
	if err := os.Mkdir(source, 0o750); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("tar", "-xf", archive, "-C", source).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	if err := os.Rename(source, folder); err != nil {
		if _, there := os.Stat(folder); there != nil {
			t.Fatal(err)
		}
	}
}

// buildNew builds the program of the next version: this version with an expand step, a contract step, and statements
// that need the one and go on after the other.
func buildNew(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	ledger, err := filepath.Abs(root + "/internal/ledger/postgres")
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	steps, err := filepath.Glob("testdata/upgrade/*.sql")
	if err != nil || len(steps) != 2 {
		t.Fatalf("steps %v: %v", steps, err)
	}
	for _, step := range steps {
		if replace[filepath.Join(ledger, "migrations", filepath.Base(step))], err = filepath.Abs(step); err != nil {
			t.Fatal(err)
		}
	}
	sessions := filepath.Join(ledger, "sql", "sessions.sql")
	text := codetest.ReadFile(t, sessions)
	for old, times := range map[string]int{", rules, started": 3, "rules = $2": 2} {
		if strings.Count(text, old) != times {
			t.Fatalf("%s has %q %d times; change buildNew to match the statements", sessions, old, strings.Count(text, old))
		}
		text = strings.ReplaceAll(text, old, strings.Replace(old, "rules", "rules_run", 1))
	}
	replace[sessions] = filepath.Join(dir, "sessions.sql")
	if err := os.WriteFile(replace[sessions], []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "tallyman-new")
	// With a commit the program calls itself a release, so its version differs from the old one's.
	build(t, root, "-ldflags=-s -w -X tallyman/internal/cli.commit=next", "-overlay", list, "-o", file)
	return file
}

// build builds the program in a folder with its source. Other tests need the processors more.
func build(t *testing.T, source string, flags ...string) {
	t.Helper()
	cmd := exec.Command("nice", append(append([]string{"go", "build", "-buildvcs=false"}, flags...), "./cmd/tallyman")...)
	cmd.Dir = source
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build in %s: %v\n%s", source, err, out)
	}
}
