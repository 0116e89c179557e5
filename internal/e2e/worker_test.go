package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"tallyman/internal/testenv"
)

// worker is a process of examples/wms/worker, and the way on which it reaches a node, whichever that is.
type worker struct {
	t     *testing.T
	name  string
	proxy *testenv.Proxy
	cmd   *exec.Cmd
	out   bytes.Buffer // may be read when it has ended

	ended func() error // waits for its end
}

// buildWorker builds the program and returns its file.
func buildWorker(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "worker")
	if out, err := exec.Command("go", "build", "-o", file, "tallyman/examples/wms/worker").CombinedOutput(); err != nil {
		t.Fatalf("build the worker: %v\n%s", err, out)
	}
	return file
}

// startWorker runs the program against the node until it is stopped.
func startWorker(t *testing.T, file, name string, n *node, flags ...string) *worker {
	t.Helper()
	w := &worker{t: t, name: name, proxy: testenv.NewProxy(t, n.address())}
	flags = append([]string{"-server", "http://" + w.proxy.Addr, "-name", name}, flags...)
	w.cmd = exec.Command(file, flags...)
	w.cmd.Stdout, w.cmd.Stderr = &w.out, os.Stderr
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.ended = sync.OnceValue(w.cmd.Wait)
	t.Cleanup(func() {
		_ = w.cmd.Process.Kill()
		_ = w.ended()
		if t.Failed() {
			t.Logf("worker %s:\n%s", name, &w.out)
		}
	})
	return w
}

// stop asks it to stop, which it has to do well, and returns what it told.
func (w *worker) stop() string {
	w.t.Helper()
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		w.t.Fatalf("worker %s: %v", w.name, err)
	}
	late := time.AfterFunc(endWithin, func() { _ = w.cmd.Process.Kill() })
	defer late.Stop()
	if err := w.ended(); err != nil {
		w.t.Errorf("worker %s ended with %v", w.name, err)
	}
	return w.out.String()
}
