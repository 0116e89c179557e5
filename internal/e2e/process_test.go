package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startWithin and endWithin are long, because a machine that builds and tests at once may take seconds to start a
// process.
const (
	startWithin = 30 * time.Second
	endWithin   = 30 * time.Second
)

// node is the process of a node.
type node struct {
	t    *testing.T
	name string
	base string // URL of its API
	cmd  *exec.Cmd
	log  string // file with its output

	frozen chan struct{} // closed when it says that it freezes
	ended  chan struct{} // closed when it has; then err is how
	err    error
}

// start runs a node on the configuration and returns when it listens. The settings are NAME=value.
func start(t *testing.T, dir, name string, settings ...string) *node {
	t.Helper()
	return startProgram(t, os.Args[0], dir, name, settings...)
}

// startProgram is start with another program than this one.
func startProgram(t *testing.T, program, dir, name string, settings ...string) *node {
	t.Helper()
	n := &node{t: t, name: name, log: filepath.Join(dir, name+".log"), frozen: make(chan struct{}), ended: make(chan struct{})}
	log, err := os.Create(n.log)
	if err != nil {
		t.Fatal(err)
	}
	n.cmd = exec.Command(program, "serve", "--config", filepath.Join(dir, configFile))
	n.cmd.Env = append(append(os.Environ(), childNode+"="+name), settings...)
	n.cmd.Stderr = log
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.cmd.StdinPipe(); err != nil { // closes when this process ends, whatever its end
		t.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.kill)
	t.Cleanup(n.tell)
	go func() {
		said := bufio.NewReader(out)
		if line, _ := said.ReadString('\n'); strings.TrimSpace(line) == frozen {
			close(n.frozen)
		}
		_, _ = io.Copy(io.Discard, said)
		n.err = n.cmd.Wait()
		_ = log.Close()
		close(n.ended)
	}()
	n.base = n.listening()
	return n
}

var listens = regexp.MustCompile(`msg="Listening on" url=(\S+)\n`)

// listening waits until the node's log says where the node listens.
func (n *node) listening() string {
	n.t.Helper()
	late := time.After(startWithin)
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for ended := n.ended; ; {
		log, err := os.ReadFile(n.log)
		if err != nil {
			n.t.Fatal(err)
		}
		if m := listens.FindSubmatch(log); m != nil {
			return string(m[1])
		}
		if ended == nil {
			n.t.Fatalf("node %s has ended before it listens:\n%s", n.name, log)
		}
		select {
		case <-ended:
			ended = nil // look once more
		case <-late:
			n.t.Fatalf("node %s does not listen:\n%s", n.name, log)
		case <-look.C:
		}
	}
}

// kill sends kill -9. It does nothing where the process has ended.
func (n *node) kill() {
	_ = n.cmd.Process.Kill()
	<-n.ended
}

// meeting is the time in which a node must come to its step. A node that comes first for none of the few rules may
// never do.
const meeting = 10 * time.Second

// startsAnew starts a node, and again as another session, until it comes to its step.
func startsAnew(t *testing.T, start func() *node, met func(n *node) <-chan struct{}) *node {
	t.Helper()
	for range 10 {
		n := start()
		select {
		case <-met(n):
			return n
		case <-n.ended:
			return n
		case <-time.After(meeting):
			n.stop()
		}
	}
	t.Fatal("the node never came to its step")
	return nil
}

// dies starts a node until it has killed itself.
func dies(t *testing.T, start func() *node) {
	t.Helper()
	n := startsAnew(t, start, func(n *node) <-chan struct{} { return n.ended })
	var exit *exec.ExitError
	if !errors.As(n.err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		n.t.Fatalf("node %s ended with %v", n.name, n.err)
	}
}

// freezes starts a node until it has stopped itself.
func freezes(t *testing.T, start func() *node) *node {
	t.Helper()
	n := startsAnew(t, start, func(n *node) <-chan struct{} { return n.frozen })
	select {
	case <-n.ended:
		t.Fatalf("node %s ended with %v", n.name, n.err)
	default:
	}
	return n
}

func (n *node) signal(s syscall.Signal) {
	n.t.Helper()
	if err := n.cmd.Process.Signal(s); err != nil {
		n.t.Fatalf("node %s: %v", n.name, err)
	}
}

// stop stops the node with SIGTERM, as a supervisor does. The node must end by itself with exit code 0. stop returns
// how long that took.
func (n *node) stop() time.Duration {
	n.t.Helper()
	began := time.Now()
	n.signal(syscall.SIGTERM)
	select {
	case <-n.ended:
	case <-time.After(endWithin):
		n.t.Fatalf("node %s does not heed SIGTERM", n.name)
	}
	if n.err != nil {
		n.t.Errorf("node %s ended with %v after SIGTERM", n.name, n.err)
	}
	return time.Since(began)
}

// tell logs the node's output where the test has failed.
func (n *node) tell() {
	if !n.t.Failed() {
		return
	}
	text, err := os.ReadFile(n.log)
	if err != nil {
		n.t.Log(err)
		return
	}
	n.t.Logf("node %s:\n%s", n.name, text)
}

// address returns the host:port at which the node listens.
func (n *node) address() string { return strings.TrimPrefix(n.base, "http://") }

// ask calls the node's queue, and returns whether there was an answer.
func (n *node) ask(method, path, body string, answer any) bool {
	n.t.Helper()
	return n.call(method, "/queues/"+workQueue+path, body, answer) == http.StatusOK
}

// call calls the node's API and returns the status of the answer. 0 means there was none.
func (n *node) call(method, path, body string, answer any) int {
	n.t.Helper()
	req, err := http.NewRequestWithContext(n.t.Context(), method, n.base+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		n.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		return resp.StatusCode
	}
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		n.t.Errorf("%s %s: %v", method, path, err)
	}
	return resp.StatusCode
}
