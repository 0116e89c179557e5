package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tallyman/internal/cli"
	"tallyman/internal/item"
	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

// workQueue is the sink that the rule of these tests delivers to.
const workQueue = "replenishment"

// workRule makes an item of each bin below zero, and withdraws the item when the bin is right again.
const workRule = `
version: 1
rules:
  - id: empty-bin
    source: wms
    schedule: {cron: "* * * * * *"}
    probe: {sql: "SELECT wh_id, bin_code, 'S' || qty AS sku, qty FROM bin_stock WHERE qty < 0"}
    key: [wh_id, bin_code]
    notice:
      type: REP_NOTICE
      warehouse: wh_id
      priority: "qty < -20 ? 5 : 3"
      title: "Bin {{ .bin_code }} is empty"
      fields: {bin: bin_code, sku: sku}
      send_resolved: true
    deliver: [{sink: inbox}, {sink: replenishment}]
`

// newWork is a cluster with a queue, without nodes.
func newWork(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t, killLease, workRule)
	c.sinks("  " + workQueue + ": {type: queue, lease: 2s, max_attempts: 50, suspend_steps: [1s]}\n")
	c.write("types.yaml", strings.Replace(typesText, "{bin: {type: string}}", "{bin: {type: string}, sku: {type: string}}", 1))
	return c
}

// bins puts empty bins into the WMS, whose articles are S-1, S-2, ….
func (c *cluster) bins(aisle string, qty, from, to int) {
	c.t.Helper()
	c.exec(c.t.Context(), `INSERT INTO bin_stock SELECT 119240, $1 || '-' || i, $2 FROM generate_series($3::int, $4::int) i`, aisle, qty, from, to)
}

// items returns the items of the queue in a state, from the API. It returns none where the queue does not answer.
func (n *node) items(state item.State) []wire.ItemForm {
	n.t.Helper()
	var page wire.ItemsForm
	if !n.ask(http.MethodGet, "/items?limit=1000&state="+string(state), "", &page) {
		return nil
	}
	return page.Items
}

// awaitItems waits until so many items are in the state, and returns them.
func (n *node) awaitItems(state item.State, count int) []wire.ItemForm {
	n.t.Helper()
	var list []wire.ItemForm
	testenv.Eventually(n.t, func() bool {
		list = n.items(state)
		return len(list) == count
	}, 30*time.Second)
	return list
}

// traced is an item with its trace.
func (n *node) traced(id string) wire.TracedItemForm {
	n.t.Helper()
	var form wire.TracedItemForm
	if !n.ask(http.MethodGet, "/items/"+id, "", &form) {
		n.t.Fatalf("item %s is not there", id)
	}
	return form
}

// bin returns the bin that an item is about.
func bin(t *testing.T, of wire.ItemForm) string {
	t.Helper()
	var n struct{ Data struct{ Bin string } }
	if err := json.Unmarshal(of.Payload, &n); err != nil {
		t.Errorf("item %s: %v", of.ID, err)
	}
	return n.Data.Bin
}

// course returns a trace in short form.
func course(form wire.TracedItemForm) string {
	parts := make([]string, len(form.Trace))
	for i, m := range form.Trace {
		parts[i] = m.To
		if m.By != "" {
			parts[i] += " by " + m.By
		}
		if m.Note != "" {
			parts[i] += ": " + m.Note
		}
	}
	return strings.Join(parts, "; ")
}

// command runs the program's command line against the node.
func (n *node) command(args ...string) string {
	n.t.Helper()
	return n.commandThat(func(code int) bool { return code == 0 }, args...)
}

// commandThat is command with the allowed exit codes.
func (n *node) commandThat(may func(code int) bool, args ...string) string {
	n.t.Helper()
	var out, errs bytes.Buffer
	args = append(args, "--server", n.base)
	code := cli.Run(n.t.Context(), cli.Process{Args: args, In: strings.NewReader(""), Out: &out, Err: &errs}, cli.Default())
	if !may(code) || errs.Len() > 0 {
		n.t.Errorf("tallyman %s: %d %s", strings.Join(args, " "), code, &errs)
	}
	return out.String()
}

// A rule makes items. Two worker processes finish, suspend and store them. The API and the command line show the
// result.
func TestTheWorkThatARuleMakesIsDone(t *testing.T) {
	t.Parallel()
	file, c := buildWorker(t), newWork(t)
	n := c.start(0)
	c.bins("A", -1, 1, 20)
	c.bins("B", -7, 1, 2) // of which there is no reserve
	c.bins("C", -1, 1, 2) // nobody gets there
	n.awaitItems(item.Ready, 24)
	flags := []string{"-batch", "2", "-takes", "20ms", "-missing", "S-7", "-closed", "C"}
	workers := []*worker{startWorker(t, file, "anna", n, flags...), startWorker(t, file, "ben", n, flags...)}

	done, stored := n.awaitItems(item.Done, 20), n.awaitItems(item.Stored, 4)
	by := map[string]int{}
	for _, one := range done {
		for _, name := range []string{"anna", "ben"} {
			if course(n.traced(one.ID)) == fmt.Sprintf("ready by rule:empty-bin; leased by %s; done by %s", name, name) {
				by[name]++
			}
		}
	}
	if by["anna"]+by["ben"] != 20 || by["anna"] == 0 || by["ben"] == 0 {
		t.Errorf("who did it: %v; as in %s", by, course(n.traced(done[0].ID)))
	}
	for _, one := range stored {
		trace := n.traced(one.ID)
		want := "stored by X: aisle C is closed"
		if strings.HasPrefix(bin(t, one), "B") {
			want = "suspended by X: no S-7 in reserve; ready; leased by X; stored by X: no S-7 in reserve"
		}
		got := strings.NewReplacer("by anna", "by X", "by ben", "by X").Replace(course(trace))
		if got != "ready by rule:empty-bin; leased by X; "+want || *one.RemainingSeconds < 86_000 {
			t.Errorf("bin %s: %s", bin(t, one), course(trace))
		}
	}
	told := n.command("queue", "show", workQueue, stored[0].ID)
	for _, want := range []string{stored[0].ID, "stored", "rule:empty-bin", n.name} {
		if !strings.Contains(told, want) {
			t.Errorf("queue show does not tell %q:\n%s", want, told)
		}
	}
	if told := n.command("queue", "list"); !strings.Contains(told, workQueue) {
		t.Errorf("queue list:\n%s", told)
	}
	for _, w := range workers {
		if told := w.stop(); !strings.Contains(told, "has stopped") {
			t.Errorf("worker %s:\n%s", w.name, told)
		}
	}
	n.stop()
}

// The end of a finding withdraws its item, unless a worker has leased the item.
func TestAResolutionTakesItsItemBack(t *testing.T) {
	t.Parallel()
	c := newWork(t)
	n := c.start(0)
	c.bins("A", -30, 1, 1) // urgent: it is served first
	c.bins("A", -1, 2, 3)
	n.awaitItems(item.Ready, 3)
	var got wire.LeasedItemsForm
	if !n.ask(http.MethodPost, "/lease", `{"worker":"anna","lease":"1h"}`, &got) || len(got.Items) != 1 {
		t.Fatalf("leased %+v", got.Items)
	}
	mine := got.Items[0]
	if mine.Priority != 5 || !strings.Contains(string(mine.Payload), `"bin":"A-1"`) {
		t.Fatalf("leased %+v", mine)
	}
	c.exec(t.Context(), `UPDATE bin_stock SET qty = 5 WHERE bin_code IN ('A-1', 'A-2')`)
	removed := n.awaitItems(item.Removed, 1)
	if got := course(n.traced(removed[0].ID)); got != "ready by rule:empty-bin; removed by rule:empty-bin: resolved" {
		t.Error(got)
	}
	if n.items(item.Ready)[0].ID == removed[0].ID || len(n.items(item.Ready)) != 1 || len(n.items(item.Leased)) != 1 {
		t.Errorf("ready %+v, leased %+v", n.items(item.Ready), n.items(item.Leased))
	}
	var answer wire.ResultForm
	if !n.ask(http.MethodPost, "/items/"+mine.ID+"/ack", fmt.Sprintf(`{"attempt":%d}`, mine.Attempt), &answer) || answer.State != "done" {
		t.Errorf("the worker's ack: %+v", answer)
	}
	// The next time is work of its own.
	c.exec(t.Context(), `UPDATE bin_stock SET qty = -1 WHERE bin_code = 'A-2'`)
	if again := n.awaitItems(item.Ready, 2); again[1].ID == removed[0].ID {
		t.Errorf("the old item is back: %+v", again)
	}
	n.stop()
}

const workKills = 4

// Nodes die in the middle of work, and so does Redis. In the end every item is done, and its end is reported once, to a
// push channel as well.
func TestNodesDieAndNoWorkIsLost(t *testing.T) {
	t.Parallel()
	file, c := buildWorker(t), newWork(t)
	gateway := testenv.NewHTTPServer(t)
	gateway.Always(testenv.ReplyStatus(http.StatusNoContent, ""))
	c.configure("[1s]}", "[1s], events: {sink: gateway, on: [ready_again, done], strategy: important, until: sent}}\n"+
		"  gateway: {type: webhook, url: \""+gateway.URL+"\", allow_private: true}")
	nodes := []*node{c.start(0), c.start(1)}
	flags := []string{"-batch", "5", "-takes", "10ms", "-lease", "2s"}
	workers := []*worker{startWorker(t, file, "anna", nodes[0], flags...), startWorker(t, file, "ben", nodes[1], flags...)}
	random := rand.New(rand.NewPCG(4, 4))
	const bins = 40
	for kill := range workKills {
		c.bins("A", -1-random.IntN(30), 1+kill*bins, (kill+1)*bins)
		pause(time.Duration(random.Int64N(int64(1500 * time.Millisecond))))
		place := random.IntN(len(nodes))
		nodes[place].kill()
		if kill == workKills/2 {
			c.redis.Restart()
		}
		pause(time.Duration(random.Int64N(int64(300 * time.Millisecond))))
		nodes[place] = c.start(place)
		workers[place].proxy.Point(nodes[place].address())
	}
	n := nodes[0]
	done := n.awaitItems(item.Done, workKills*bins)
	seen := map[string]bool{}
	for _, one := range done {
		seen[bin(t, one)] = true
		ends := slices.DeleteFunc(n.traced(one.ID).Trace, func(m wire.MoveForm) bool { return m.To != string(item.Done) })
		if len(ends) != 1 {
			t.Errorf("item %s was done %d times: %s", one.ID, len(ends), course(n.traced(one.ID)))
		}
	}
	if len(seen) != workKills*bins {
		t.Errorf("work on %d bins was done", len(seen))
	}
	var told map[string][]string
	testenv.Eventually(t, func() bool {
		told = eventsOf(t, gateway)
		return len(slices.DeleteFunc(slices.Clone(done), func(f wire.ItemForm) bool { return !slices.Contains(told[f.ID], "done") })) == len(done)
	}, 30*time.Second)
	for id, events := range told {
		if slices.Index(events, "done") != len(events)-1 {
			t.Errorf("of item %s was told %v", id, events)
		}
	}
	for _, state := range []item.State{item.Ready, item.Leased, item.Delayed, item.Suspended, item.Stored, item.Dead} {
		if left := n.items(state); len(left) > 0 {
			t.Errorf("%d items are %s", len(left), state)
		}
	}
	for _, w := range workers {
		w.stop()
	}
	for _, n := range nodes {
		n.stop()
	}
}

// A Redis that would evict items when its memory is full is refused at the start. The error says what to do.
func TestANodeRefusesARedisThatEvicts(t *testing.T) {
	t.Parallel()
	c := newWork(t)
	if err := c.redis.Client(t).ConfigSet(t.Context(), "maxmemory-policy", "volatile-lru").Err(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "serve", "--config", filepath.Join(c.dir, configFile))
	cmd.Env = append(os.Environ(), childNode+"=node-0-1")
	if _, err := cmd.StdinPipe(); err != nil { // stays open, so that the node has no other reason to end
		t.Fatal(err)
	}
	told, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(told), "set maxmemory-policy to noeviction (it is volatile-lru)") {
		t.Errorf("%v: %s", err, told)
	}
}

// worker is a process of examples/wms/worker, with a proxy through which it reaches any node.
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

// stop stops the worker, which must end without an error, and returns its output.
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

// eventsOf returns the events of each item so far, each once, in the order in which they came.
func eventsOf(t *testing.T, gateway *testenv.HTTPServer) map[string][]string {
	t.Helper()
	seen, told := map[string]bool{}, map[string][]string{}
	for _, r := range gateway.Requests() {
		var n struct {
			ID   string
			Data struct{ Item, Event string }
		}
		if err := json.Unmarshal(r.Body, &n); err != nil {
			t.Fatal(err)
		}
		if !seen[n.ID] {
			seen[n.ID] = true
			told[n.Data.Item] = append(told[n.Data.Item], n.Data.Event)
		}
	}
	return told
}
