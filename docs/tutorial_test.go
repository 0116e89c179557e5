package docs

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tallyman/docs/codetest"
)

// TestTutorial does what the pages of the tutorial say, in their order, with the test binary as the program: it writes their files and runs the
// commands of their shell blocks.
func TestTutorial(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sqlite3"); err != nil {
		t.Fatal("the commands of docs/tutorial need sqlite3: ", err)
	}
	address := freeAddress(t)
	script := tutorialScript(t, address)
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"configs", "examples"} {
		from, err := filepath.Abs(filepath.Join("..", name))
		if err == nil {
			err = os.Symlink(from, filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	program := "#!/bin/sh\nexport " + asProgram + "=1\nexec '" + self + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "bin", "tallyman"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = os.Environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "site", "serve.log"))
		t.Fatalf("%v\n%s\n%s", err, out, log)
	}
	for _, want := range []string{
		"site.yaml is fine: 1 source, 1 sink, a ledger in sqlite, the embedded Redis, listening on http://",
		"Wrote rules/negative-bin-stock.yaml\nWrote rules/negative-bin-stock_test.yaml\nWrote rule.schema.json\nNext: tallyman rules preview negative-bin-stock --config site.yaml",
		"No problems: 1 file, 1 sound rule, each checked on its source", "Bin A-01 is at -3", `[119240,"B-01","S002"]`, "threshold",
	} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("the commands do not print %q", want)
		}
	}
	if bytes.Contains(out, []byte("Bin B-01 is at -9")) {
		t.Error("the silence of the tutorial does not hold its notice back")
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

// tutorialScript is what the pages have a reader do, as a script.
func tutorialScript(t *testing.T, address string) string {
	t.Helper()
	var b strings.Builder
	for _, page := range []string{"tutorial/first-site.md", "tutorial/first-rule.md"} {
		for _, block := range blocksOf(t, page) {
			name, isFile := strings.CutPrefix(block.mark, "file: ")
			switch {
			case isFile:
				b.WriteString("cat > " + name + " <<'END OF FILE'\n" + strings.ReplaceAll(block.text, "127.0.0.1:8080", address) + "END OF FILE\n")
			case block.language != "sh" || strings.HasPrefix(block.mark, "not run"):
			default:
				for line := range strings.Lines(block.text) {
					b.WriteString(tutorialLine(strings.TrimSuffix(line, "\n"), address) + "\n")
				}
			}
		}
	}
	return b.String()
}

// tutorialLine is a line of a page as the script has it: the program is there already, and the node runs in the background.
func tutorialLine(line, address string) string {
	switch {
	case line == "make build":
		return ":"
	case strings.HasPrefix(line, "tallyman serve "):
		return line + ` >serve.log 2>&1 &
trap 'kill $! && wait $! || true' EXIT
for i in $(seq 300); do if grep -q Listening serve.log; then break; fi; sleep 0.1; done
grep Listening serve.log
`
	}
	return strings.ReplaceAll(line, "127.0.0.1:8080", address)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().String()
}

// TestTutorialIsShort: a reader has half an hour.
func TestTutorialIsShort(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"tutorial/first-site.md", "tutorial/first-rule.md"} {
		if n := strings.Count(codetest.ReadFile(t, page), "\n"); n > 220 {
			t.Errorf("%s has %d lines: it is for half an hour", page, n)
		}
	}
}
