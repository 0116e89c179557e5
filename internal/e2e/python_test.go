package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tallyman/internal/testenv"
)

// pythonClient is the example, which prints every notice once.
type pythonClient struct {
	t     *testing.T
	args  []string
	out   string // file with what it printed, over all its lives
	log   string
	cmd   *exec.Cmd
	ended chan error
}

// TestThePythonClientPrintsEveryNoticeOnceInOrder has the example poll in both forms, and stream, while its server, its
// Redis and itself are killed, emptied and started again.
func TestThePythonClientPrintsEveryNoticeOnceInOrder(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2*time.Second, "version: 1\nrules: []\n")
	first := c.start(0)
	front := testenv.NewProxy(t, first.address())
	var clients []*pythonClient
	for name, args := range map[string][]string{"json": {"--format", "json"}, "xml": {"--format", "xml"}, "stream": {"--stream"}} {
		clients = append(clients, newPythonClient(c, name, front.Addr, args...))
	}
	s := &sender{t: t, front: front.Addr}
	all := func(what string, do func(*pythonClient)) {
		t.Log(what)
		for _, p := range clients {
			do(p)
		}
	}
	heard := func(what string) {
		t.Helper()
		all(what, func(p *pythonClient) { p.hears(s.sent) })
	}
	replace := func(end func(*node)) {
		end(first)
		first = c.start(0)
		front.Point(first.address())
	}

	all("they start", (*pythonClient).start)
	s.send(20)
	heard("at first")
	replace((*node).kill)
	s.send(20)
	heard("after kill -9 of the server")
	if err := c.redis.Client(t).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	s.send(20)
	heard("after the index was emptied")
	c.redis.Kill()
	s.send(5)
	c.redis.Restart()
	s.send(20)
	heard("after Redis was killed and came back with nothing")
	all("they stop", (*pythonClient).stop)
	s.send(20)
	all("they start again", (*pythonClient).start)
	heard("after a restart of themselves")
	replace(func(n *node) { n.stop() })
	s.send(20)
	heard("after a restart of the server")
	all("they stop", (*pythonClient).stop)
	heard("in the end")
}

func newPythonClient(c *cluster, name, addr string, args ...string) *pythonClient {
	c.t.Helper()
	dir := filepath.Join(c.dir, "python-"+name)
	if err := os.Mkdir(dir, 0o750); err != nil {
		c.t.Fatal(err)
	}
	client, err := filepath.Abs("../../examples/clients/python/tallyman_client.py")
	if err != nil {
		c.t.Fatal(err)
	}
	return &pythonClient{t: c.t, out: filepath.Join(dir, "out"), log: filepath.Join(dir, "log"), args: append([]string{
		"-B", client, "--server", "http://" + addr, "--warehouse", "119240", "--subscriber", "role:keeper", "--subscriber", "user:7",
		"--state", filepath.Join(dir, "cursor"), "--wait", "5",
	}, args...)}
}

// start begins a life of the client; what it prints goes on where the one before has ended.
func (p *pythonClient) start() {
	p.t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		p.t.Fatalf("the test needs python3, which scripts/test-deps.sh installs: %v", err)
	}
	p.cmd = exec.Command(python, p.args...)
	out, log := p.open(p.out), p.open(p.log)
	p.cmd.Stdout, p.cmd.Stderr = out, log
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.ended = make(chan error, 1)
	go func() {
		p.ended <- p.cmd.Wait()
		_ = out.Close()
		_ = log.Close()
	}()
	p.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		if p.t.Failed() {
			text, _ := os.ReadFile(p.log)
			p.t.Logf("%s:\n%s", p.log, text)
		}
	})
}

func (p *pythonClient) open(path string) *os.File {
	p.t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	return f
}

// stop is what a supervisor does.
func (p *pythonClient) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	select {
	case err := <-p.ended:
		if err != nil {
			p.t.Errorf("the client ended with %v", err)
		}
	case <-time.After(endWithin):
		p.t.Fatal("the client does not heed SIGTERM")
	}
}

var printed = regexp.MustCompile(`^\S+  REP_NOTICE  sent  (notice \d+)  \[n_\w+\]$`)

// hears waits until the client has printed as many notices as there are, and holds them against those.
func (p *pythonClient) hears(want []string) {
	p.t.Helper()
	var got []string
	enough := func() bool {
		text, err := os.ReadFile(p.out)
		if err != nil {
			p.t.Fatal(err)
		}
		got = got[:0]
		for line := range strings.Lines(string(text)) {
			if m := printed.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
				got = append(got, m[1])
			} else if strings.HasSuffix(line, "\n") {
				p.t.Fatalf("the client prints %q", line)
			}
		}
		return len(got) >= len(want)
	}
	testenv.Eventually(p.t, enough, 90*time.Second)
	if !slices.Equal(got, want) {
		p.t.Fatalf("%s has %d notices: %v; %d were sent", p.out, len(got), got, len(want))
	}
}

// sender is a business system.
type sender struct {
	t     *testing.T
	front string
	sent  []string
}

// send sends notices one by one, each until it is taken.
func (s *sender) send(n int) {
	s.t.Helper()
	for range n {
		title := fmt.Sprintf("notice %d", len(s.sent)+1)
		testenv.Eventually(s.t, func() bool { return s.try(title) }, 60*time.Second)
		s.sent = append(s.sent, title)
	}
}

func (s *sender) try(title string) bool {
	body := fmt.Sprintf(`{"notices":[{"type":"REP_NOTICE","warehouse":"119240","title":%q}]}`, title)
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://"+s.front+"/api/v1/notices", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", title)
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusCreated || resp.StatusCode == http.StatusOK
}
