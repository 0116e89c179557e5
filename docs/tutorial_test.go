package docs

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"tallyman/docs/codetest"
)

// TestTutorial does what the pages of the tutorial say, in their order, with the test binary as the program: it writes their files and runs the
// commands of their shell blocks. Each output that a page shows must be the output of the commands before it.
func TestTutorial(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sqlite3"); err != nil {
		t.Fatal("the commands of docs/tutorial need sqlite3: ", err)
	}
	address := freeAddress(t)
	script, outputs := tutorialScript(t, address)
	dir := t.TempDir()
	for _, name := range []string{"configs", "examples"} {
		from, err := filepath.Abs(filepath.Join("..", name))
		if err == nil {
			err = os.Symlink(from, filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	out, err := runScript(t, dir, script)
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "site", "serve.log"))
		t.Fatalf("%v\n%s\n%s", err, out, log)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	printed := regexp.MustCompile(`\b`+regexp.QuoteMeta(host)+`\b`).ReplaceAllString(out, "wms-1") // An id can have the same letters.
	printed = regexp.MustCompile(`0\.1\.0-dev(\+\w+)?`).ReplaceAllString(printed, "0.1.0")         // The pages show a release.
	for _, o := range outputs {
		_, got, _ := strings.Cut(printed, o.begins())
		got, _, _ = strings.Cut(got, shownOutput{}.mark())
		if got, want := withoutVarying(got), withoutVarying(o.text); got != want {
			t.Errorf("%s:%d shows\n%s\nand the commands print\n%s", o.page, o.line, want, got)
		}
	}
	if len(outputs) < 12 {
		t.Errorf("only %d outputs were compared", len(outputs))
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

// runScript runs a script in the folder, where bin/tallyman is the test binary as the program, and returns what the script prints.
func runScript(t *testing.T, dir, script string, environment ...string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "bin", "tallyman"), "#!/bin/sh\nexport "+asProgram+"=1\nexec '"+self+"' \"$@\"\n", 0o700)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), environment...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// writeFile writes a file, and its folder.
func writeFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// shownOutput is the output that a page shows below a shell block.
type shownOutput struct{ fenced }

// mark begins the line that the script prints before each shell block.
func (shownOutput) mark() string { return "---- the commands before " }

// begins is the line that the script prints before the commands that have this output.
func (o shownOutput) begins() string { return fmt.Sprintf("%s%s:%d\n", o.mark(), o.page, o.line) }

var (
	printedTime = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?Z`)
	printedID   = regexp.MustCompile(`\b([a-z])_[a-z2-7]{12,}`)
	printedAge  = regexp.MustCompile(`\((\d+[dhms])+\)`)
	printedHost = regexp.MustCompile(`127\.0\.0\.1:\d+`)
)

// withoutVarying is an output without what differs from one time to the next: times, ids, ages, addresses, and the widths of columns.
func withoutVarying(output string) string {
	output = printedTime.ReplaceAllString(output, "TIME")
	output = printedID.ReplaceAllString(output, "${1}_ID")
	output = printedAge.ReplaceAllString(output, "(AGE)")
	output = printedHost.ReplaceAllString(output, "ADDRESS")
	output = regexp.MustCompile(` {2,}`).ReplaceAllString(output, "  ")
	return strings.TrimSpace(output)
}

// tutorialScript is what the pages have a reader do, as a script, with the outputs that the pages show.
func tutorialScript(t *testing.T, address string) (script string, outputs []shownOutput) {
	t.Helper()
	var b strings.Builder
	for _, page := range []string{"tutorial/first-site.md", "tutorial/first-rule.md"} {
		blocks := blocksOf(t, page)
		for i, block := range blocks {
			name, isFile := strings.CutPrefix(block.mark, "file: ")
			switch {
			case isFile:
				b.WriteString("cat > " + name + " <<'END OF FILE'\n" + strings.ReplaceAll(block.text, "127.0.0.1:8080", address) + "END OF FILE\n")
			case block.language != "sh" || strings.HasPrefix(block.mark, "not run"):
			default:
				output := shownOutput{block}
				if i+1 < len(blocks) && blocks[i+1].language == "text" {
					output.fenced = blocks[i+1]
					outputs = append(outputs, output)
				}
				b.WriteString("echo '" + strings.TrimSuffix(output.begins(), "\n") + "'\n")
				for line := range strings.Lines(block.text) {
					b.WriteString(tutorialLine(strings.TrimSuffix(line, "\n"), address) + "\n")
				}
			}
		}
	}
	return b.String(), outputs
}

// tutorialLine is a line of a page as the script has it: the program is there already, and the node runs in the background.
func tutorialLine(line, address string) string {
	switch {
	case line == "make build":
		return ":"
	case strings.HasPrefix(line, "tallyman init site "):
		return line + "\nsed -i 's/127.0.0.1:8080/" + address + "/' site/tallyman.yaml"
	case line == "tallyman serve":
		return line + ` >serve.log 2>&1 &
trap 'kill $! && wait $! || true' EXIT
for i in $(seq 300); do if grep -q 'The index is served' serve.log; then break; fi; sleep 0.1; done
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
