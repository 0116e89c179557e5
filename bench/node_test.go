package bench

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// nodeProcess is a node of its own.
type nodeProcess struct {
	t       testing.TB
	cmd     *exec.Cmd
	base    string
	started time.Time
}

// startNode builds the program, makes the ledger, and starts a node.
func startNode(t testing.TB, dir string) *nodeProcess {
	t.Helper()
	program := filepath.Join(dir, "tallyman")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/tallyman")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	config := filepath.Join(dir, "tallyman.yaml")
	if out, err := exec.CommandContext(t.Context(), program, "migrate", "up", "--config", config).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	n := &nodeProcess{t: t, started: time.Now()}
	n.cmd = exec.Command(program, "serve", "--config", config)
	n.cmd.Env = append(os.Environ(), strings.Fields(os.Getenv("SCALE_ENV"))...)
	log := filepath.Join(dir, "node.log")
	file, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	n.cmd.Stderr = file
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	line, _ := said.ReadString('\n')
	base, ok := strings.CutPrefix(strings.TrimSpace(line), "Listening on ")
	if !ok {
		text, _ := os.ReadFile(log)
		t.Fatalf("the node says %q: %s", line, text)
	}
	n.base = base
	go func() { _, _ = io.Copy(io.Discard, said) }()
	t.Cleanup(func() {
		_ = n.cmd.Process.Signal(syscall.SIGTERM)
		_ = n.cmd.Wait()
		_ = file.Close()
	})
	return n
}

// cpu is the processor time of the node in seconds.
func (n *nodeProcess) cpu() float64 {
	p, _ := readProcess(n.cmd.Process.Pid)
	return float64(p.own) / 100
}

// memory is what the node has in memory, in bytes.
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
