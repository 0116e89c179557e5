//go:build linux

package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tallyman/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestPackages builds both packages of one folder.
func TestPackages(t *testing.T) {
	testenv.Slow(t)
	tree := unpackedRelease(t)
	t.Run("rpm", func(t *testing.T) { testRPM(t, tree) })
	t.Run("deb", func(t *testing.T) { testDeb(t, tree) })
}

// testDeb installs, upgrades, removes and purges the deb with dpkg in a copy of this machine's files, and looks at
// files, modes, owners and the node after each step. It needs Debian and root, as CI has both.
func testDeb(t *testing.T, tree string) {
	t.Helper()
	if _, err := exec.LookPath("dpkg"); err != nil || os.Getuid() != 0 {
		t.Skip("dpkg installs as root on Debian alone; CI does")
	}
	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	buildPackage(t, "deb", "0.1.0", tree, first)
	appendTo(t, filepath.Join(tree, "configs", "tallyman.yaml"), "\n# of the next version\n")
	appendTo(t, filepath.Join(tree, "configs", "types.yaml"), "\n# of the next version\n")
	buildPackage(t, "deb", "0.1.1", tree, second)
	m := newMachine(t)

	m.do(t, "dpkg", "--install", m.put(t, theFile(t, first, "tallyman_0.1.0*.deb")))
	m.is(t, "/usr/bin/tallyman", "root root 755")
	m.is(t, "/usr/lib/systemd/system/tallyman.service", "root root 644")
	m.is(t, "/etc/tallyman", "root tallyman 750")
	m.is(t, "/etc/tallyman/rules", "root tallyman 750")
	m.is(t, "/etc/tallyman/tallyman.yaml", "root tallyman 640")
	m.is(t, "/etc/tallyman/rules/sample.yaml", "root tallyman 640")
	m.is(t, "/var/lib/tallyman", "tallyman tallyman 750")
	for _, file := range []string{
		"/usr/share/man/man1/tallyman.1.gz", "/usr/share/man/man1/tallyman-rules-check.1.gz", "/usr/share/bash-completion/completions/tallyman",
		"/usr/share/zsh/vendor-completions/_tallyman", "/usr/share/fish/vendor_completions.d/tallyman.fish", "/usr/share/doc/tallyman/copyright",
	} {
		m.is(t, file, "root root 644")
	}
	if user := m.do(t, "getent", "passwd", "tallyman"); !strings.Contains(user, ":/var/lib/tallyman:/usr/sbin/nologin") {
		t.Errorf("the user is %s", user)
	}
	m.serves(t)
	m.is(t, "/var/lib/tallyman/tallyman.db", "tallyman tallyman 640")
	if out := m.do(t, "dpkg", "--verify", "tallyman"); out != "" {
		t.Errorf("files differ after the first start:\n%s", out)
	}

	m.do(t, "sh", "-c", "echo '# of the site' >> /etc/tallyman/tallyman.yaml && echo kept > /etc/tallyman/rules/own.txt && rm /etc/tallyman/rules/sample.yaml")
	m.do(t, "dpkg", "--force-confdef", "--force-confold", "--install", m.put(t, theFile(t, second, "tallyman_0.1.1*.deb")))
	if got := m.do(t, "tail", "-n", "1", "/etc/tallyman/tallyman.yaml"); got != "# of the site\n" {
		t.Errorf("after the upgrade tallyman.yaml ends with %q: the site's change is lost", got)
	}
	if got := m.do(t, "tail", "-n", "1", "/etc/tallyman/tallyman.yaml.dpkg-dist"); got != "# of the next version\n" {
		t.Errorf("the configuration of the new version ends with %q", got)
	}
	if got := m.do(t, "tail", "-n", "1", "/etc/tallyman/types.yaml"); got != "# of the next version\n" {
		t.Errorf("after the upgrade types.yaml, which nobody changed, ends with %q", got)
	}
	m.is(t, "/etc/tallyman/tallyman.yaml", "root tallyman 640")
	m.is(t, "/etc/tallyman/rules/own.txt", "root root 644")
	m.isGone(t, "/etc/tallyman/rules/sample.yaml")
	m.serves(t)

	m.do(t, "dpkg", "--remove", "tallyman")
	m.isGone(t, "/usr/bin/tallyman")
	m.isGone(t, "/usr/lib/systemd/system/tallyman.service")
	m.is(t, "/etc/tallyman/tallyman.yaml", "root tallyman 640")
	m.is(t, "/var/lib/tallyman/tallyman.db", "tallyman tallyman 640")

	m.do(t, "dpkg", "--purge", "tallyman")
	m.isGone(t, "/etc/tallyman")
	m.isGone(t, "/var/lib/tallyman")
	m.isGone(t, "/usr/share/doc/tallyman")
	m.do(t, "getent", "passwd", "tallyman")
	if out := m.do(t, "sh", "-c", "dpkg-query --show tallyman 2>&1 || true"); !strings.Contains(out, "no packages found") {
		t.Errorf("dpkg still knows the package: %s", out)
	}
}

// unpackedRelease makes the folder of a release with a binary that is built as the tests are.
func unpackedRelease(t *testing.T) string {
	t.Helper()
	tree := filepath.Join(t.TempDir(), "tallyman")
	binary := filepath.Join(t.TempDir(), "tallyman")
	run(t, exec.Command("go", "build", "-o", binary, "tallyman/cmd/tallyman"))
	run(t, exec.Command("../../scripts/release.sh", "tree", "linux", runtime.GOARCH, tree, binary))
	return tree
}

func buildPackage(t *testing.T, kind, version, tree, folder string) {
	t.Helper()
	run(t, exec.Command("../../scripts/release.sh", "package", kind, version, runtime.GOARCH, tree, folder))
}

func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func theFile(t *testing.T, folder, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s in %s: %q %v", pattern, folder, found, err)
	}
	return found[0]
}
