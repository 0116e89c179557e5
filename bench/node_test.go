package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// nodeProcess is a node in a process of its own, or a program of VictoriaMetrics.
type nodeProcess struct {
	t       testing.TB
	cmd     *exec.Cmd
	base    string
	started time.Time
}

// write makes a file of a node's configuration.
func write(t testing.TB, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeTypes makes the type catalogue of a node.
func writeTypes(t testing.TB, dir string) {
	t.Helper()
	types, err := os.ReadFile("../configs/types.yaml")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "types.yaml", string(types))
}

// nodeProgram builds the program.
func nodeProgram(t testing.TB) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "tallyman")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/tallyman")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// migrate makes the schema of the ledger that the configuration in the folder names.
func migrate(t testing.TB, program, dir string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), program, "migrate", "up", "--config", filepath.Join(dir, "tallyman.yaml")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// startNode starts a node with the configuration in the folder. The node appends its log to the file NAME.log in the
// folder.
func startNode(t testing.TB, program, dir, name string) *nodeProcess {
	t.Helper()
	n := &nodeProcess{t: t, started: time.Now()}
	n.cmd = exec.Command(program, "serve", "--config", filepath.Join(dir, "tallyman.yaml"))
	n.cmd.Env = append(os.Environ(), strings.Fields(os.Getenv("SCALE_ENV"))...)
	log := filepath.Join(dir, name+".log")
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	n.cmd.Stderr = file
	begun, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n.base = listening(t, log, int(begun.Size()))
	t.Cleanup(func() {
		n.end(syscall.SIGTERM)
		_ = file.Close()
	})
	return n
}

var listens = regexp.MustCompile(`msg="Listening on" url=(\S+)\n`)

// listening waits until the log says where the node listens, and returns the URL. It skips the first bytes of the log.
func listening(t testing.TB, log string, first int) string {
	t.Helper()
	late := time.After(time.Minute)
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if m := listens.FindSubmatch(text[first:]); m != nil {
			return string(m[1])
		}
		select {
		case <-late:
			t.Fatalf("the node does not listen: %s", text[first:])
		case <-look.C:
		}
	}
}

// end sends the signal and waits for the end of the process; ending a node twice does nothing.
func (n *nodeProcess) end(signal syscall.Signal) {
	_ = n.cmd.Process.Signal(signal)
	_ = n.cmd.Wait()
}

// cpu returns the processor time of the node, in seconds.
func (n *nodeProcess) cpu() float64 {
	p, _ := readProcess(n.cmd.Process.Pid)
	return float64(p.own) / 100
}

// memory returns the resident memory of the node, in bytes.
func (n *nodeProcess) memory() float64 {
	n.t.Helper()
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(n.cmd.Process.Pid), "status"))
	if err != nil {
		n.t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if text, found := strings.CutPrefix(line, "VmRSS:"); found {
			kib, err := strconv.ParseFloat(strings.Fields(text)[0], 64)
			if err != nil {
				n.t.Fatal(err)
			}
			return kib * 1024
		}
	}
	n.t.Fatal("the system does not say how much memory the node has")
	return 0
}
