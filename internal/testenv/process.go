package testenv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// startDeadline is generous: a machine that builds and tests at once starts a server in seconds.
const startDeadline = 60 * time.Second

// process is a running server.
type process struct {
	cmd  *exec.Cmd
	log  string // the file that has its output
	done chan struct{}
}

// launch describes a server to start.
type launch struct {
	path  string
	args  []string
	dir   string
	env   []string            // beside that of this process
	cred  *syscall.Credential // nil = as this process
	death syscall.Signal      // what it gets when the test process dies
}

// start starts it. The goroutine holds its thread for as long as the server lives, because the kernel ties
// the signal of the parent's death to the thread that started the child.
func (l launch) start() (*process, error) {
	p := &process{cmd: exec.Command(l.path, l.args...), log: filepath.Join(l.dir, "server.log"), done: make(chan struct{})}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = l.dir, out, out
	p.cmd.Env = append(os.Environ(), l.env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: l.cred}
	setDeathSignal(p.cmd.SysProcAttr, l.death)

	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait()
		}
		_ = out.Close()
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", l.path, err)
	}
	return p, nil
}

// ready waits until check succeeds, the server has ended, or the deadline is over.
func (p *process) ready(check func() error) error {
	var last error
	ended := false
	ok := poll(func() bool {
		select {
		case <-p.done:
			ended = true
			return true
		default:
			last = check()
			return last == nil
		}
	}, startDeadline)
	switch {
	case ended:
		return fmt.Errorf("%s ended:\n%s", p.cmd.Path, p.tail())
	case !ok:
		return fmt.Errorf("%s does not answer after %s: %w\n%s", p.cmd.Path, startDeadline, last, p.tail())
	}
	return nil
}

// end sends the signal and waits for the end; a server that ignores it is killed.
func (p *process) end(sig syscall.Signal) {
	_ = p.cmd.Process.Signal(sig)
	select {
	case <-p.done:
	case <-time.After(startDeadline):
		p.kill()
	}
}

// kill is kill -9 of the server and of its children, as if the machine had lost power.
func (p *process) kill() {
	// A stopped parent cannot replace the children that are killed below.
	_ = p.cmd.Process.Signal(syscall.SIGSTOP)
	children := childrenOf(p.cmd.Process.Pid)
	_ = p.cmd.Process.Kill()
	for _, pid := range children {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-p.done
}

// tail is the end of the server's own output.
func (p *process) tail() string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// errNoPort means that none of the ports tried was free.
var errNoPort = errors.New("no free port on 127.0.0.1")

// freePort picks a port below the range that the kernel gives to outgoing connections, so that none of those takes it
// while a server restarts. The tests in a browser, which run at the same time, pick theirs from 15,000 to 19,999.
func freePort() (int, error) {
	const low, high = 20000, 32000
	for range 100 {
		port := low + rand.IntN(high-low)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		return port, l.Close()
	}
	return 0, errNoPort
}
