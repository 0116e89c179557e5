//go:build linux

package packages

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// testRPM reads the rpm with rpm itself. Nothing installs it.
func testRPM(t *testing.T, tree string) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "rpm")
	buildPackage(t, "rpm", "0.1.0", tree, folder)
	file := theFile(t, folder, "tallyman-0.1.0*.rpm")
	query := func(args ...string) string {
		return run(t, exec.Command("rpm", append([]string{"--query", "--package", file}, args...)...))
	}
	if got := query("--queryformat", "%{NAME} %{VERSION} %{LICENSE} %{OS} %{BUILDHOST}"); got != "tallyman 0.1.0 Apache-2.0 linux localhost" {
		t.Errorf("the rpm is %q", got)
	}
	files := query("--queryformat", "[%{FILENAMES} %{FILEUSERNAME} %{FILEGROUPNAME} %{FILEMODES:perms} %{FILEFLAGS:fflags}\n]")
	for _, want := range []string{
		"/usr/bin/tallyman root root -rwxr-xr-x ",
		"/usr/lib/systemd/system/tallyman.service root root -rw-r--r-- ",
		"/etc/tallyman/tallyman.yaml root tallyman -rw-r----- cn",
		"/etc/tallyman/rules/sample.yaml root tallyman -rw-r----- cn",
		"/var/lib/tallyman tallyman tallyman drwxr-x--- ",
		"/usr/share/licenses/tallyman/LICENSE root root -rw-r--r-- ",
		"/usr/share/zsh/site-functions/_tallyman root root -rw-r--r-- ",
	} {
		if !strings.Contains("\n"+files, "\n"+want+"\n") {
			t.Errorf("the rpm lacks %q; it has:\n%s", want, files)
		}
	}
	for script, line := range map[string]string{
		"PREIN": "useradd --system", "POSTIN": "systemctl --no-reload preset", "PREUN": "disable --now", "POSTUN": "try-restart",
	} {
		if got := query("--queryformat", "%{"+script+"}"); !strings.Contains(got, line) {
			t.Errorf("the script %s of the rpm does not do %q:\n%s", script, line, got)
		}
	}
	run(t, exec.Command("rpm", "--checksig", "--nosignature", file))
}
