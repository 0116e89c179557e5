package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

// sdkProgram is a program that the README of an SDK has: it prints what it handles, a line each.
type sdkProgram struct {
	t    *testing.T
	name string
	dir  string // where it runs, with its cursor
	argv []string
	out  string // file with what it printed, over all its lives

	cmd   *exec.Cmd
	ended func() error
}

// goProgram makes a module of an outside user of the code of the README, follow or work, and builds it.
func goProgram(t *testing.T, name, dir string, blocks ...string) *sdkProgram {
	t.Helper()
	sdk, err := filepath.Abs("../../clients/go")
	if err != nil {
		t.Fatal(err)
	}
	text := "package main\n\nimport (\n\t\"context\"\n\t\"fmt\"\n\t\"log\"\n\t\"os\"\n\t\"os/signal\"\n\t\"syscall\"\n\t\"time\"\n\n\ttallyman \"tallyman/clients/go\"\n)\n\n" +
		"var _ = fmt.Sprint\nvar _ = time.Second\n\nfunc main() {\n" +
		"ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)\ndefer stop()\n" +
		strings.Join(blocks, "\n") + "\nif err != nil {\nlog.Fatal(err)\n}\n}\n"
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(sdk, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	mod = []byte(strings.Replace(string(mod), "module tallyman/clients/go", "module example.com/warehouse", 1) +
		"\nrequire tallyman/clients/go v0.0.0\n\nreplace tallyman/clients/go => " + sdk + "\n")
	sum, err := os.ReadFile(filepath.Join(sdk, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string][]byte{"go.mod": mod, "go.sum": sum} {
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-o", "program", ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the code of the README: %v\n%s", err, out)
	}
	return &sdkProgram{t: t, name: name, dir: dir, argv: []string{filepath.Join(dir, "program")}, out: filepath.Join(dir, "out")}
}

// typescriptProgram packs the SDK as npm would publish it, and compiles the code of the README against that.
func typescriptProgram(t *testing.T, name, dir, block string) *sdkProgram {
	t.Helper()
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"package.json":  `{"type":"module"}`,
		"tsconfig.json": `{"compilerOptions":{"target":"ES2023","module":"NodeNext","strict":true,"noUncheckedIndexedAccess":true,"types":["node"]},"files":["program.ts"]}`,
		"program.ts":    block,
	}
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("../../scripts/clients.sh", "sdk", dir).CombinedOutput(); err != nil {
		t.Fatalf("the code of the README: %v\n%s", err, out)
	}
	return &sdkProgram{t: t, name: name, dir: dir, argv: []string{"node", filepath.Join(dir, "program.js")}, out: filepath.Join(dir, "out")}
}

// readmeBlocks returns the blocks of code of a README in one language.
func readmeBlocks(t *testing.T, path, language string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) != 2 {
		t.Fatalf("%s has %d blocks of %s; the tests know of follow and work", path, len(blocks), language)
	}
	return blocks
}

// start begins a life of the program at the address; what it prints goes on where the life before has ended.
func (p *sdkProgram) start(addr string) {
	p.t.Helper()
	p.cmd = exec.Command(p.argv[0], p.argv[1:]...)
	p.cmd.Dir = p.dir
	p.cmd.Env = append(os.Environ(), "TALLYMAN_URL=http://"+addr, "TALLYMAN_TOKEN=")
	out, err := os.OpenFile(p.out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	log, err := os.OpenFile(p.out+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr = out, log
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	cmd := p.cmd
	p.ended = sync.OnceValue(func() error {
		defer out.Close()
		defer log.Close()
		return cmd.Wait()
	})
	p.t.Cleanup(func() {
		p.kill()
		if p.t.Failed() {
			text, _ := os.ReadFile(p.out + ".log")
			p.t.Logf("%s:\n%s", p.name, text)
		}
	})
}

// kill sends kill -9.
func (p *sdkProgram) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.ended()
}

// stop sends SIGTERM, as a supervisor does.
func (p *sdkProgram) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	late := time.AfterFunc(endWithin, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	if err := p.ended(); err != nil {
		p.t.Errorf("%s ended with %v", p.name, err)
	}
}

// lines returns what the program has printed, in all its lives.
func (p *sdkProgram) lines() []string {
	p.t.Helper()
	text, err := os.ReadFile(p.out)
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// hears waits until the program has handled the last of the notices, and holds what it handled against them. After a
// kill the notice that was handled last may have come again, once.
func (p *sdkProgram) hears(want []string, killedAfter []int) {
	p.t.Helper()
	var got []string
	testenv.Eventually(p.t, func() bool {
		got = p.lines()
		return got[len(got)-1] == want[len(want)-1]
	}, 90*time.Second)
	var once []string
	for i, line := range got {
		if i > 0 && line == got[i-1] && slices.Contains(killedAfter, i) {
			continue
		}
		once = append(once, line)
	}
	if !slices.Equal(once, want) {
		p.t.Fatalf("%s handled %d notices: %v; %d were sent", p.name, len(got), got, len(want))
	}
}

// testFollow has the program of a README follow an inbox while it, its server and its Redis are killed, emptied and
// started again.
func testFollow(t *testing.T, build func(c *cluster) *sdkProgram) {
	t.Helper()
	c := newCluster(t, 2*time.Second, "version: 1\nrules: []\n")
	p := build(c)
	first := c.start(0)
	front := testenv.NewProxy(t, first.address())
	s := &sender{t: t, front: front.Addr}
	var kills []int // how many lines were printed when it was killed
	round := func(what string) {
		t.Helper()
		t.Log(what)
		s.send(20)
		p.hears(s.sent, kills)
	}
	p.start(front.Addr)
	round("at first")
	first.kill()
	first = c.start(0)
	front.Point(first.address())
	round("after kill -9 of the server")
	for range 5 {
		s.send(4)
		p.kill() // while it handles those
		kills = append(kills, len(p.lines()))
		s.send(2)
		p.start(front.Addr)
	}
	round("after five times kill -9 of the program")
	if err := c.redis.Client(t).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	round("after the index was emptied")
	c.redis.Kill()
	c.redis.Restart()
	round("after Redis was killed and came back with nothing")
	p.stop()
	s.send(20)
	p.start(front.Addr)
	round("after a stop")
	p.stop()
}

// testWork has the program of a README work on a queue while it, its server and Redis are killed.
func testWork(t *testing.T, build func(c *cluster) *sdkProgram) {
	t.Helper()
	c := newWork(t)
	p := build(c)
	n := c.start(0)
	front := testenv.NewProxy(t, n.address())
	p.start(front.Addr)
	const rounds, bins = 4, 30
	for round := range rounds {
		c.bins("A", -1, 1+round*bins, (round+1)*bins)
		pause(time.Duration(round) * 300 * time.Millisecond)
		switch round {
		case 0:
			p.kill()
			p.start(front.Addr)
		case 1:
			n.kill()
			n = c.start(0)
			front.Point(n.address())
		case 2:
			c.redis.Restart()
		default:
			p.stop()
			p.start(front.Addr)
		}
	}
	c.bins("A", -1, 1+rounds*bins, (rounds+1)*bins) // what is done of these shows that the program that was started last is at work, and can be told to stop
	done := n.awaitItems(item.Done, (rounds+1)*bins)
	handled := p.lines()
	for _, one := range done {
		if !slices.Contains(handled, bin(t, one)) {
			t.Errorf("bin %s is done, and nobody has handled it", bin(t, one))
		}
	}
	p.stop()
}

func TestTheGoSDKLosesNothing(t *testing.T) {
	t.Parallel()
	blocks := readmeBlocks(t, "../../clients/go/README.md", "go")
	newClient, _, _ := strings.Cut(blocks[0], "inbox :=")
	t.Run("follow", func(t *testing.T) {
		t.Parallel()
		testFollow(t, func(c *cluster) *sdkProgram {
			return goProgram(t, "follow", filepath.Join(c.dir, "go-follow"), blocks[0])
		})
	})
	t.Run("work", func(t *testing.T) {
		t.Parallel()
		testWork(t, func(c *cluster) *sdkProgram {
			return goProgram(t, "work", filepath.Join(c.dir, "go-work"), newClient, blocks[1])
		})
	})
}

func TestTheTypeScriptSDKLosesNothing(t *testing.T) { //nolint:tparallel // its parts pack the SDK in one folder, one after the other
	t.Parallel()
	blocks := readmeBlocks(t, "../../clients/typescript/README.md", "ts")
	t.Run("follow", func(t *testing.T) {
		testFollow(t, func(c *cluster) *sdkProgram {
			return typescriptProgram(t, "follow", filepath.Join(c.dir, "ts-follow"), blocks[0])
		})
	})
	t.Run("work", func(t *testing.T) {
		testWork(t, func(c *cluster) *sdkProgram {
			return typescriptProgram(t, "work", filepath.Join(c.dir, "ts-work"), blocks[1])
		})
	})
}

// TestTheGoSDKHasTheOperationsOfPrograms compares the SDK's list of operations with the document.
func TestTheGoSDKHasTheOperationsOfPrograms(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../api/testdata/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string   `json:"operationId"`
			Roles       []string `json:"x-roles"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile("../../clients/go/api/oapi-codegen.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, operations := range document.Paths {
		for _, o := range operations {
			programs := slices.ContainsFunc(o.Roles, func(role string) bool {
				return slices.Contains([]string{"client", "service", "producer", "worker"}, role)
			})
			if programs && !strings.HasPrefix(o.OperationID, "legacy-") && o.OperationID != "openapi" {
				want = append(want, fmt.Sprintf("    - %s", o.OperationID))
			}
		}
	}
	slices.Sort(want)
	got := regexp.MustCompile(`(?m)^    - .*$`).FindAllString(string(config), -1)
	if !slices.Equal(got, want) {
		t.Errorf("clients/go/api/oapi-codegen.yaml lists\n%s\nand programs may\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
