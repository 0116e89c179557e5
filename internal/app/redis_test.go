package app_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/config"
	"tallyman/internal/testenv"
	"tallyman/internal/wire"
	"tallyman/sinks/inbox"
	"tallyman/sinks/queue"
)

// TestEmbeddedRedisHasNoPort runs a node in a process of its own, which listens for the API and for nothing else.
func TestEmbeddedRedisHasNoPort(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("it reads /proc")
	}
	const child = "TALLYMAN_TEST_EMBEDDED"
	if os.Getenv(child) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEmbeddedRedisHasNoPort$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestEmbeddedRedisHasNoPort") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	s := newSite(t)
	n := s.start("one")
	n.send(`{"notices":[{"type":"REP_NOTICE","warehouse":"119240","title":"it works"}]}`, http.StatusCreated)
	n.await(url.Values{}, 1)
	if found := listeners(t); len(found) != 1 || !strings.HasPrefix(found[0], "tcp") {
		t.Errorf("the process listens at %v; the API is one of them", found)
	}
}

// listeners returns the TCP and Unix sockets at which this process listens.
func listeners(t *testing.T) []string {
	t.Helper()
	mine := map[string]bool{}
	files, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if link, err := os.Readlink(file); err == nil { // the folder's own is closed by now
			if inode, ok := strings.CutPrefix(link, "socket:["); ok {
				mine[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	var out []string
	for name, at := range map[string]struct {
		state, inode int
		listens      string
	}{"tcp": {3, 9, "0A"}, "tcp6": {3, 9, "0A"}, "unix": {5, 6, "01"}} {
		f, err := os.Open("/proc/self/net/" + name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			fields := strings.Fields(lines.Text())
			// A Unix socket listens where it has the flag __SO_ACCEPTCON.
			if len(fields) <= at.inode || fields[at.state] != at.listens || name == "unix" && fields[3] != "00010000" {
				continue
			}
			if mine[fields[at.inode]] {
				out = append(out, name+" "+fields[1])
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// The configured cap applies to the inboxes.
func TestInboxCapIsASetting(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.cfg.Sinks["inbox"].(*inbox.Settings).Cap = 3
	n := s.start("one")
	n.send(`{"notices":[{"type":"REP_NOTICE","warehouse":"119240","title":"first"}]}`, http.StatusCreated)
	first := n.await(url.Values{}, 1)
	more := `{"notices":[` + strings.Repeat(`{"type":"REP_NOTICE","warehouse":"119240","title":"more"},`, 5) + `{"type":"REP_NOTICE","warehouse":"119240","title":"last"}]}`
	if code, body := n.do(http.MethodPost, "/api/v1/notices", "application/json", more); code != http.StatusCreated {
		t.Fatalf("%d %s", code, body)
	}
	p := n.await(url.Values{"after": {first.Cursor}}, 3)
	if !p.Reset || p.ResetReason != "trimmed" || p.Missed == nil || *p.Missed != 3 {
		t.Errorf("%+v", p)
	}
}

// loss is a way in which Redis loses its data.
type loss struct {
	addr          string // that the site uses
	halfway, lose func()
}

// losses lists the ways. Each begins with empty servers.
var losses = map[string]func(*testing.T) loss{
	"flushall":                                flushed,
	"kill -9 and restart":                     restarted,
	"restart from an older snapshot":          fromSnapshot,
	"promotion of a replica that lags behind": promoted,
}

func flushed(t *testing.T) loss {
	t.Helper()
	r := testenv.Redis(t)
	return loss{r.Addr, func() {}, func() {
		if err := r.Client(t).FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}}
}

func restarted(t *testing.T) loss {
	t.Helper()
	r := testenv.Redis(t)
	return loss{r.Addr, func() {}, r.Restart}
}

func fromSnapshot(t *testing.T) loss {
	t.Helper()
	r := testenv.Redis(t)
	return loss{r.Addr, r.Save, r.Restart}
}

func promoted(t *testing.T) loss {
	t.Helper()
	primary := testenv.Redis(t)
	replica := testenv.Replica(t, primary)
	proxy := testenv.NewProxy(t, primary.Addr)
	return loss{
		proxy.Addr,
		func() { primary.WaitForReplica(replica); replica.StopReplication() },
		func() { primary.Kill(); replica.Promote(); proxy.Point(replica.Addr) },
	}
}

// backWithin is the longest time until the inboxes are back: the time to connect, and to restore them.
const backWithin = 5*time.Second + 3*time.Second

// After a loss the inboxes are restored from the ledger: the same notices in the same order. Old cursors start again.
// Later subscribers get no earlier notices.
func TestRedisLosesWhatItHeld(t *testing.T) {
	t.Parallel()
	for name, prepare := range losses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.cfg.Ledger = config.Ledger{Driver: config.Postgres, URL: config.NewSecret(testenv.Postgres(t)), Retention: 24 * time.Hour}
			index := prepare(t)
			s.cfg.Redis = config.Redis{URL: config.RedisURL{URLs: []config.Secret{config.NewSecret("redis://" + index.addr)}}, Prefix: "tallyman:"}
			wms := s.postgresWMS()
			s.rule("stock.yaml", stockRule)
			n := s.start("one")

			wms.exec(`INSERT INTO bin_stock SELECT 119240, 'A-' || i, 'S1', -i FROM generate_series(1, 20) i`)
			n.await(nil, 20)
			index.halfway()
			wms.exec(`INSERT INTO bin_stock SELECT 119240, 'B-' || i, 'S1', -i FROM generate_series(1, 10) i`)
			before := n.await(nil, 30)
			subscription := `{"type":"REP_NOTICE","warehouse":"*","subscriber":"role:late"}`
			if code, body := n.do(http.MethodPost, "/api/v1/subscriptions", "application/json", subscription); code != http.StatusCreated {
				t.Fatalf("subscribe: %d %s", code, body)
			}

			index.lose()
			var after pageJSON
			lost := time.Now()
			testenv.Eventually(t, func() bool {
				var code int
				code, after = n.poll(url.Values{"after": {before.Cursor}})
				return code == http.StatusOK && after.Reset
			}, backWithin)
			t.Logf("back after %s", time.Since(lost))
			if len(after.Notices) != len(before.Notices) {
				t.Fatalf("%d of %d notices are back", len(after.Notices), len(before.Notices))
			}
			for i := range after.Notices {
				if after.Notices[i].ID != before.Notices[i].ID {
					t.Fatalf("notice %d is %s, was %s", i, after.Notices[i].ID, before.Notices[i].ID)
				}
			}
			if _, late := n.poll(url.Values{"subscriber": {"role:late"}}); len(late.Notices) != 0 {
				t.Fatalf("who subscribed later got %d notices of before", len(late.Notices))
			}
			wms.exec(`INSERT INTO bin_stock VALUES (119240, 'C-01', 'S1', -1)`)
			n.await(url.Values{"after": {after.Cursor}}, 1)
			n.await(url.Values{"subscriber": {"role:late"}}, 1)
		})
	}
}

const workQueue = "replenishment"

// queue gives the site a queue. The rule that it returns delivers to the inbox and to the queue.
func (s *site) queue() (rule string) {
	s.cfg.Sinks[workQueue] = &queue.Settings{
		Timezone: queue.Timezone{Location: time.UTC}, Lease: time.Minute, MaxAttempts: 3, Dedupe: queue.Window{For: 36 * time.Hour}, SuspendSteps: []time.Duration{},
	}
	return strings.Replace(stockRule, "{sink: inbox}", "{sink: inbox}, {sink: "+workQueue+"}", 1)
}

// ask calls the API of the queue.
func (n *node) ask(method, path, body string, answer any) int {
	n.t.Helper()
	code, text := n.do(method, "/api/v1/queues/"+workQueue+path, "application/json", body)
	if code == http.StatusOK {
		if err := json.Unmarshal([]byte(text), answer); err != nil {
			n.t.Fatalf("%v in %s", err, text)
		}
	}
	return code
}

// awaitWork waits until the items of the state are those bins, in that order.
func (n *node) awaitWork(state string, bins ...string) {
	n.t.Helper()
	testenv.Eventually(n.t, func() bool {
		var page wire.ItemsForm
		if n.ask(http.MethodGet, "/items?state="+state, "", &page) != http.StatusOK {
			return false
		}
		var got []string
		for _, one := range page.Items {
			var notice struct{ Data struct{ Bin string } }
			if err := json.Unmarshal(one.Payload, &notice); err != nil {
				n.t.Fatal(err)
			}
			got = append(got, notice.Data.Bin)
		}
		return slices.Equal(got, bins)
	}, 20*time.Second)
}

// The items of a rule, on the embedded default and on real servers, are made, leased, finished and withdrawn. A node
// that starts on an empty Redis restores unfinished items. Earlier leases have ended.
func TestWorkOfARule(t *testing.T) {
	t.Parallel()
	for name, prepare := range environments {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			wms := prepare(s)
			s.rule("stock.yaml", s.queue())
			wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3), (119240, 'A-02', 'S1', -3), (119240, 'A-03', 'S1', -3)`)
			n := s.start("one")
			n.await(nil, 3)
			n.awaitWork("ready", "A-01", "A-02", "A-03")
			var got wire.LeasedItemsForm
			n.ask(http.MethodPost, "/lease", `{"worker":"anna","max":2}`, &got)
			if len(got.Items) != 2 {
				t.Fatalf("leased %+v", got.Items)
			}
			act := func(i int, what, body string) int {
				return n.ask(http.MethodPost, "/items/"+got.Items[i].ID+"/"+what, body, &wire.ResultForm{})
			}
			if code := act(0, "ack", fmt.Sprintf(`{"attempt":%d}`, got.Items[0].Attempt)); code != http.StatusOK {
				t.Fatalf("ack: %d", code)
			}
			if code := act(1, "suspend", fmt.Sprintf(`{"attempt":%d}`, got.Items[1].Attempt)); code != http.StatusConflict {
				t.Errorf("suspended where suspend_steps is empty: %d", code)
			}
			wms.exec(`DELETE FROM bin_stock WHERE bin_code = 'A-03'`)
			n.awaitWork("removed", "A-03")

			metrics := func(want string) bool {
				_, text := n.do(http.MethodGet, "/metrics", "*/*", "")
				return strings.Contains(text, `tallyman_queue_items{queue="replenishment",state="leased"} `+want)
			}
			if !metrics("1") {
				t.Error("the metrics do not tell what is leased")
			}
			n.stop()

			n = s.start("two")
			if s.cfg.Ledger.Driver == config.SQLite { // with an embedded Redis, which is empty again
				n.awaitWork("ready", "A-02")
				if code := act(1, "ack", fmt.Sprintf(`{"attempt":%d}`, got.Items[1].Attempt)); code != http.StatusConflict {
					t.Errorf("an ack of a lease from before the loss: %d", code)
				}
			} else {
				n.awaitWork("leased", "A-02")
				if code := act(1, "ack", fmt.Sprintf(`{"attempt":%d}`, got.Items[1].Attempt)); code != http.StatusOK {
					t.Errorf("an ack after the restart: %d", code)
				}
			}
			n.awaitWork("removed", "A-03")
			var queue wire.QueueForm
			n.ask(http.MethodGet, "", "", &queue)
			if s := queue.Settings; s.Dedupe != "36h" || s.MaxAttempts != 3 || s.Lease != "1m" || len(s.SuspendSteps) != 0 {
				t.Errorf("settings %+v", s)
			}
		})
	}
}

// /status names a queue that is out of reach. The node is unready, because the inbox is in the same Redis. When Redis
// is back, nothing is lost.
func TestAQueueThatIsNotReady(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	server := s.realServers()
	wms := s.postgresWMS()
	s.rule("stock.yaml", s.queue())
	n := s.start("one")
	n.awaitWork("ready")
	server.Kill()
	testenv.Eventually(t, func() bool {
		code, body := n.do(http.MethodGet, "/readyz", "*/*", "")
		return code == http.StatusServiceUnavailable && strings.Contains(body, "inbox: ") && !strings.Contains(body, "replenishment")
	}, 20*time.Second)
	testenv.Eventually(t, func() bool {
		return slices.ContainsFunc(n.status().Health, func(h wire.Health) bool { return h.Part == "redis" && h.Name == workQueue && !h.OK && h.Error != "" })
	}, 10*time.Second)
	if code := n.ask(http.MethodPost, "/lease", `{"worker":"anna"}`, nil); code != http.StatusServiceUnavailable {
		t.Errorf("a lease without Redis: %d", code)
	}
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	server.Restart()
	n.awaitWork("ready", "A-01")
	testenv.Eventually(t, func() bool { code, _ := n.do(http.MethodGet, "/readyz", "*/*", ""); return code == http.StatusOK }, 10*time.Second)
}
