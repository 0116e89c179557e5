package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/docs/codetest"
	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

// restoreRules send a notice of each movement below zero, once.
const restoreRules = `
version: 1
rules:
  - id: negative-movement
    source: wms
    schedule: {cron: "* * * * * *"}
    mode: event
    probe:
      sql: SELECT id, wh_id, bin_code, qty FROM movement WHERE id > :wm_id ORDER BY id
      watermark: {columns: [id], initial: {id: 0}}
    when: qty < 0
    key: [id]
    notice: {type: MOVE_NOTICE, warehouse: wh_id, title: "{{ .bin_code }} went to {{ .qty }}", fields: {bin: bin_code}}
    deliver: [{sink: inbox}, {sink: gateway}]
`

// restoreSite is a site whose ledger is restored by the commands of docs/how-to/back-up-and-restore.md.
type restoreSite struct {
	*cluster

	page      string
	nodes     []*node
	places    int                                        // of nodes
	goesOn    bool                                       // The nodes run while the ledger is restored.
	shell     func(script string, environment ...string) // runs commands where the ledger is
	service   map[string]func()                          // what systemctl does with the server of the ledger
	variables map[string]string
	notices   func() []string // ids of those that the ledger has
	receiver  *receiver
	moves     int
	verified  string // the last output of ledger verify
}

// restoreClients poll seven of each warehouse.
func restoreClients() (list []string) {
	for i := range 35 {
		list = append(list, shelves(5)[i%5])
	}
	return list
}

func newRestoreSite(t *testing.T, ledgerURL string, places int) *restoreSite {
	t.Helper()
	s := &restoreSite{
		cluster: newClusterOn(t, ledgerURL, killLease, restoreRules), page: codetest.ReadFile(t, "../../docs/how-to/back-up-and-restore.md"), places: places,
		variables: map[string]string{}, receiver: calmReceiver(t),
	}
	s.sinks(webhook("gateway", s.receiver) + "  " + workQueue + ": {type: queue}\n")
	return s
}

// does runs the commands below a heading of docs/how-to/back-up-and-restore.md.
func (s *restoreSite) does(heading string) {
	s.t.Helper()
	var environment []string
	for name, value := range s.variables {
		environment = append(environment, name+"="+value)
	}
	runCommands(commandsBelow(s.t, s.page, heading), func(script string) { s.shell(script, environment...) }, func(words []string) bool {
		switch {
		case words[0] == "tallyman":
			s.tallyman(s.expanded(words[1:])...)
		case words[0] == "systemctl" && words[2] == "tallyman":
			map[string]func(){"stop": s.stopNodes, "start": s.startNodes}[words[1]]()
		case words[0] == "systemctl":
			s.service[words[1]]()
		default:
			return false
		}
		return true
	})
}

func (s *restoreSite) doing(heading string) func() { return func() { s.does(heading) } }

func (s *restoreSite) stopNodes() {
	s.t.Helper()
	for _, n := range s.nodes {
		n.stop()
	}
	s.nodes = nil
}

func (s *restoreSite) startNodes() {
	s.t.Helper()
	for place := range s.places {
		s.nodes = append(s.nodes, s.start(place))
	}
}

// move books movements below zero in each warehouse.
func (s *restoreSite) move(each int) {
	s.t.Helper()
	for _, wh := range shelves(5) {
		for range each {
			s.moves++
			s.exec(s.t.Context(), `INSERT INTO movement VALUES ($1, $2::text::bigint, $3, -1)`, s.moves, wh, fmt.Sprintf("A-%d", s.moves))
		}
	}
}

// send sends a notice of a business system to each warehouse and returns their ids.
func (s *restoreSite) send(each int, title string) (ids []string) {
	s.t.Helper()
	for _, wh := range shelves(5) {
		for i := range each {
			var sent wire.SentForm
			body := fmt.Sprintf(`{"notices":[{"type":"REP_NOTICE","warehouse":%q,"title":"%s %d","body":"of a business system","data":{"bin":"B-1"}}]}`, wh, title, i)
			if code := s.nodes[0].call(http.MethodPost, "/notices", body, &sent); code != http.StatusCreated || len(sent.Notices) != 1 {
				s.t.Fatalf("send a notice: %d, %+v", code, sent)
			}
			ids = append(ids, sent.Notices[0].ID)
		}
	}
	return ids
}

// awaitShown waits until each client shows so many notices, and returns all of them.
func awaitShown(t *testing.T, clients []*client, each int) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	testenv.Eventually(t, func() bool {
		clear(all)
		for _, cl := range clients {
			ids := cl.shown()
			if len(ids) != each {
				return false
			}
			for id := range ids {
				all[id] = true
			}
		}
		return true
	}, 60*time.Second)
	return all
}

// recorded waits until the ledger has so many webhooks as sent: a backup that is older sends them again.
func (s *restoreSite) recorded(webhooks int) {
	s.t.Helper()
	testenv.Eventually(s.t, func() bool {
		var sent wire.DeliveriesForm
		code := s.nodes[0].call(http.MethodGet, "/deliveries?sink=gateway&state=sent", "", &sent)
		return code == http.StatusOK && len(sent.Deliveries) == webhooks
	}, 30*time.Second)
}

// survives runs a site, backs its ledger up, goes on, and restores the ledger. Every client is answered reset, and then
// shows what the ledger has.
func (s *restoreSite) survives(backUp, restore func()) {
	t := s.t
	s.startNodes()
	clients, stop := s.clients(restoreClients()...)
	s.move(3)
	s.send(2, "early")
	awaitShown(t, clients, 5)
	first := s.work()
	s.recorded(5 * 3)
	backUp()
	s.finishTwo(first)
	s.move(4)
	lost := s.send(3, "late")
	awaitShown(t, clients, 12)
	s.recorded(5 * (3 + 4))
	for _, cl := range clients {
		if cl.hasReset() != 0 {
			t.Fatal("a client was reset before the restore")
		}
	}
	restore()
	s.foretells()

	// The rule finds its movements again; what was sent over the API after the backup is gone.
	testenv.Eventually(t, func() bool {
		return !slices.ContainsFunc(clients, func(cl *client) bool { return cl.hasReset() == 0 })
	}, 60*time.Second)
	shown := awaitShown(t, clients, 9)
	has := s.notices()
	for id := range shown {
		if !slices.Contains(has, id) {
			t.Errorf("clients show notice %s, which the ledger does not have", id)
		}
	}
	for _, id := range lost {
		if shown[id] || slices.Contains(has, id) {
			t.Errorf("notice %s of after the backup is still there", id)
		}
	}
	stop()
	for _, cl := range clients {
		if len(cl.faults) > 0 || len(cl.repeated) > 0 {
			t.Errorf("a client of %s: faults %v, repeated %v", cl.warehouse, cl.faults, cl.repeated)
		}
	}
	s.tells()
	s.sentAgain()
	s.decides(first)
}

// tells checks that the restore is reported everywhere.
func (s *restoreSite) tells() {
	s.t.Helper()
	s.does("### 1. See that the nodes have noticed")
	if out := s.tallyman("status"); !strings.Contains(out, "the ledger was restored from a copy") {
		s.t.Errorf("status says\n%s", out)
	}
	out := s.tallyman("audit", "list", "--action", "ledger.restored", "-o", "json")
	if !strings.Contains(out, `"sink:inbox"`) || !strings.Contains(out, "does not") {
		s.t.Errorf("the audit log says\n%s", out)
	}
	ready := s.get("/readyz")
	if !strings.Contains(ready, `"restore"`) {
		s.t.Errorf("/readyz says %s", ready)
	}
	if text := s.get("/metrics"); !strings.Contains(text, "tallyman_ledger_restored_timestamp_seconds 1.") {
		s.t.Error("no metric has the time of the restore")
	}
}

// sentAgain checks that webhooks from after the backup come again with the same ids, and earlier ones do not.
func (s *restoreSite) sentAgain() {
	s.t.Helper()
	testenv.Eventually(s.t, func() bool {
		calls, _ := s.receiver.seen()
		return len(calls) >= 5*(3+4+4)
	}, 30*time.Second)
	calls, _ := s.receiver.seen()
	times := map[string]int{}
	for _, c := range calls {
		times[c.Key]++
	}
	for move := 1; move <= s.moves; move++ {
		want := 1
		if move > 5*3 {
			want = 2
		}
		if got := times[fmt.Sprintf("[%d]", move)]; got != want {
			s.t.Errorf("the webhook of movement %d came %d times, want %d", move, got, want)
		}
	}
	if again := repeats(calls); again != 5*4 {
		s.t.Errorf("%d webhooks came again with the id that they had, want %d", again, 5*4)
	}
}

func (s *restoreSite) get(path string) string {
	s.t.Helper()
	resp, err := http.Get(s.nodes[0].base + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func TestRestoreOfADump(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	s := newServerSite(t)
	s.shell(`psql -v ON_ERROR_STOP=1 -d postgres -c "CREATE ROLE app" -c "REVOKE ALL ON DATABASE tallyman FROM PUBLIC" -c "GRANT CONNECT ON DATABASE tallyman TO app"`)
	const rights = "SELECT datacl::text FROM pg_database WHERE datname = current_database()"
	before := s.ask(rights)
	s.survives(s.doing("### Make the backup"), s.doing("### Restore it"))
	if after := s.ask(rights); after != before {
		t.Errorf("the restored database has the rights %s, and had %s", after, before)
	}
}

func TestRestoreToAPointInTime(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	s := newServerSite(t)
	s.does("### Prepare the server, once")
	s.survives(func() {
		s.does("### Make the base backup")
		s.silence("before the moment") // The archive has it, and the base backup does not.
		s.variables["TARGET"] = s.ask("SELECT clock_timestamp()::text")
		s.silence("after the moment")
	}, s.doing("### Restore to the moment"))
	if out := s.tallyman("silences", "list", "-o", "json"); !strings.Contains(out, "before the moment") || strings.Contains(out, "after the moment") {
		t.Errorf("the restored silences are\n%s", out)
	}
}

// newServerSite is a site of two nodes whose ledger has a server of its own.
func newServerSite(t *testing.T) *restoreSite {
	t.Helper()
	server := testenv.PostgresServer(t)
	server.Shell("createdb tallyman")
	s := newRestoreSite(t, server.URL("tallyman"), 2)
	s.onServer(server)
	s.service = map[string]func(){"stop": server.Stop, "start": server.Restart, "restart": func() {
		server.Stop()
		server.Restart()
	}}
	s.variables["BACKUPS"], s.variables["ARCHIVE"] = server.Folder("backups"), server.Folder("wal")
	return s
}

// onServer runs the commands on the machine of the server.
func (s *restoreSite) onServer(server *testenv.PGServer) {
	s.shell = server.Shell
	s.variables["LEDGER"] = "tallyman"
	s.notices = func() []string { return strings.Fields(s.ask("SELECT string_agg(id, ' ') FROM notices")) }
}

// ask asks the ledger's database for a text.
func (s *restoreSite) ask(query string) (text string) {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.ledgerURL)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = conn.Close(s.t.Context()) }()
	if err := conn.QueryRow(s.t.Context(), query).Scan(&text); err != nil {
		s.t.Fatal(err)
	}
	return text
}

func TestRestoreOfAFile(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	if _, err := exec.LookPath("sqlite3"); err != nil {
		t.Fatal("the test reads the ledger with sqlite3: ", err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "tallyman.db")
	s := newRestoreSite(t, "sqlite:"+file, 1)
	s.variables["LEDGER_FILE"], s.variables["BACKUPS"] = file, dir+"/backups"
	if err := os.Mkdir(s.variables["BACKUPS"], 0o700); err != nil {
		t.Fatal(err)
	}
	sh := func(script string, environment ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", script)
		cmd.Env = append(os.Environ(), environment...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, script, out)
		}
		return string(out)
	}
	s.shell = func(script string, environment ...string) { sh(script, environment...) }
	s.notices = func() []string {
		return strings.Fields(sh("sqlite3 -readonly '" + file + "' 'SELECT id FROM notices'"))
	}
	_, s.page, _ = strings.Cut(s.page, "\n## SQLite")
	s.survives(s.doing("### Make the backup"), s.doing("### Restore it"))
}
