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

// startDeadline is long, because a machine that builds and tests at once may take seconds to start a server.
const startDeadline = 60 * time.Second

// process is a running server.
type process struct {
	cmd  *exec.Cmd
	log  string // The file with the output of the server.
	done chan struct{}
}

// launch describes a server to start.
type launch struct {
	path  string
	args  []string
	dir   string
	env   []string            // The environment, in addition to this process's.
	cred  *syscall.Credential // Nil means the user of this process.
	death syscall.Signal      // The signal that the server gets when the test process dies.
}

// start starts the server in a goroutine of its own. This goroutine keeps its thread until the server ends, because the
// kernel sends the death signal when the thread that started the server ends.
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

// end sends the signal and waits for the end of the server. It kills a server that ignores the signal.
func (p *process) end(sig syscall.Signal) {
	_ = p.cmd.Process.Signal(sig)
	select {
	case <-p.done:
	case <-time.After(startDeadline):
		p.kill()
	}
}

// kill sends kill -9 to the server and its children, as if the machine had lost power.
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

// tail returns the end of the server's output.
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

// freePort picks a port below the range that the kernel uses for outgoing connections, so that no connection takes the
// port while a server restarts. The browser tests may run at the same time; they use ports from 15,000 to 19,999.
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
