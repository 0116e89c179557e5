package testenv

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// shared is the server behind Postgres, one for the test process. The first test that needs the server starts it.
var shared struct {
	once   sync.Once
	server *PGServer
	err    error
}

var databases atomic.Int64

// Postgres returns the URL of a fresh empty database, dropped when the test ends. The server is shared by
// the tests of the process. It uses fsync when benchmarks run.
func Postgres(t testing.TB) string {
	t.Helper()
	return sharedServer(t).database(t, "template1")
}

// PostgresCopy returns the URL of a fresh copy of a database, dropped when the test ends. The first call in the process
// makes the original: prepare fills an empty database, and must close its connections. Later calls do not use prepare.
func PostgresCopy(t testing.TB, prepare func(url string) error) string {
	t.Helper()
	s := sharedServer(t)
	s.model.once.Do(func() {
		s.model.name = s.nextName()
		var url string
		if url, s.model.err = s.create(s.model.name, "template1"); s.model.err == nil {
			s.model.err = prepare(url)
		}
	})
	if s.model.err != nil {
		t.Fatal(s.model.err)
	}
	return s.database(t, s.model.name)
}

func sharedServer(t testing.TB) *PGServer {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = newPGServer(benchmarks()) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

// benchmarks tells whether the process runs benchmarks.
func benchmarks() bool {
	f := flag.Lookup("test.bench")
	return f != nil && f.Value.String() != ""
}

func stopShared() {
	if shared.server != nil {
		shared.server.remove()
	}
}

// PGServer is a PostgreSQL server that a test may kill.
type PGServer struct {
	Addr      string // host:port. Restart keeps it.
	SocketDir string // The folder of the unix socket.

	t      testing.TB // Nil for the shared server.
	inst   *pgInstall
	root   string // The folder of data/ and the socket.
	port   int
	fsync  bool
	env    []string // The environment of its process, in addition to the tests' environment.
	server *process // Nil means the server is not running.

	follows *PGServer // The primary, for a standby.

	mu    sync.Mutex
	admin *pgx.Conn // Kept open, because a new connection costs about 30 ms of processor time.
	model struct {  // The original of PostgresCopy.
		once sync.Once
		name string
		err  error
	}
}

// PostgresServer starts a server for one test.
func PostgresServer(t testing.TB) *PGServer {
	t.Helper()
	s, err := newPGServer(true)
	if err != nil {
		t.Fatal(err)
	}
	s.t = t
	t.Cleanup(s.remove)
	return s
}

// URL returns the address of a database of the server; "postgres" is always there.
func (s *PGServer) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", s.Addr, database)
}

// Database returns the URL of a fresh empty database.
func (s *PGServer) Database() string {
	s.t.Helper()
	url, err := s.create(s.nextName(), "template1")
	if err != nil {
		s.t.Fatal(err)
	}
	return url
}

// Kill sends kill -9 to the server and all its backends. It does nothing where the server is not running.
func (s *PGServer) Kill() {
	if s.server != nil {
		s.server.kill()
		s.server = nil
	}
}

// Stop ends the server and breaks open connections. It does nothing where the server is not running.
func (s *PGServer) Stop() {
	if s.server != nil {
		s.server.end(syscall.SIGINT) // The "fast shutdown" of PostgreSQL.
		s.server = nil
	}
}

// Restart starts the server again on the same port. It kills a running server first.
func (s *PGServer) Restart() {
	s.t.Helper()
	s.Kill()
	if err := s.start(); err != nil {
		s.t.Fatal(err)
	}
}

// Data returns the data folder of the server (PGDATA).
func (s *PGServer) Data() string { return s.data() }

// Folder makes an empty folder that the server may use, beside its data.
func (s *PGServer) Folder(name string) string {
	s.t.Helper()
	dir := filepath.Join(s.root, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := s.inst.own(dir); err != nil {
		s.t.Fatal(err)
	}
	return dir
}

// Shell runs a script as the user of the server. The programs of PostgreSQL are in its PATH and connect to the server.
// environment has entries NAME=value.
func (s *PGServer) Shell(script string, environment ...string) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "sh", "-eu", "-c", script)
	cmd.Dir = s.root
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.inst.cred}
	cmd.Env = append([]string{
		"PATH=" + s.inst.bin + ":" + os.Getenv("PATH"), "PGHOST=127.0.0.1", "PGPORT=" + strconv.Itoa(s.port), "PGUSER=postgres", "PGDATA=" + s.data(),
	}, environment...)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%v\n%s\n%s", err, script, out)
	}
}

// database copies a database for t and drops the copy when t ends.
func (s *PGServer) database(t testing.TB, template string) string {
	t.Helper()
	name := s.nextName()
	url, err := s.create(name, template)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.exec("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)"); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return url
}

func (s *PGServer) nextName() string { return "t" + strconv.FormatInt(databases.Add(1), 10) }

func (s *PGServer) create(name, template string) (string, error) {
	if err := s.exec("CREATE DATABASE " + name + " TEMPLATE " + template); err != nil {
		return "", fmt.Errorf("create a database: %w", err)
	}
	return s.URL(name), nil
}

// exec runs one statement.
func (s *PGServer) exec(sql string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx := context.Background()
	if s.admin == nil || s.admin.Ping(ctx) != nil {
		c, err := pgx.Connect(ctx, s.URL("postgres"))
		if err != nil {
			return err
		}
		s.admin = c
	}
	_, err := s.admin.Exec(ctx, sql)
	return err
}

// newPGServer makes a data folder and starts a server on it.
func newPGServer(fsync bool) (*PGServer, error) {
	s, err := makePGServer()
	if err != nil {
		return nil, err
	}
	s.fsync = fsync
	if err := s.begin(s.inst.makeData); err != nil {
		return nil, err
	}
	return s, nil
}

// makePGServer returns a server that does not run yet, with an empty folder.
func makePGServer() (*PGServer, error) {
	inst, err := findPostgres()
	if err != nil {
		return nil, err
	}
	root, err := inst.tempDir()
	if err != nil {
		return nil, err
	}
	return &PGServer{inst: inst, root: root, SocketDir: root}, nil
}

// begin fills the data folder and starts the server on it. Where the server does not start, begin removes the folder.
func (s *PGServer) begin(fill func(dir string) error) error {
	err := fill(s.data())
	if err != nil {
		s.remove()
		return err
	}
	for range 5 { // Another process may take the port between the choice and the start.
		if s.port, err = freePort(); err != nil {
			break
		}
		s.Addr = "127.0.0.1:" + strconv.Itoa(s.port)
		if err = s.start(); err == nil {
			return nil
		}
	}
	s.remove()
	return err
}

func (s *PGServer) data() string { return filepath.Join(s.root, "data") }

// start starts the server. After a kill the first tries may fail, because old backends are still ending.
func (s *PGServer) start() error {
	var err error
	poll(func() bool {
		err = s.startOnce()
		return err == nil || !s.leftovers()
	}, startDeadline)
	return err
}

func (s *PGServer) startOnce() error {
	server, err := launch{
		path: s.inst.binary("postgres"),
		args: []string{
			"-D", s.data(), "-p", strconv.Itoa(s.port), "-k", s.root, "-h", "127.0.0.1",
			// A statement that is cancelled while the server compiles it may go on, and keep a processor busy until its
			// timeout.
			"-c", "jit=off",
			"-c", "max_connections=200", "-c", "fsync=" + strconv.FormatBool(s.fsync), "-c", "synchronous_commit=on",
		},
		dir: s.root, env: s.env, cred: s.inst.cred, death: syscall.SIGQUIT, // The "immediate shutdown" of PostgreSQL.
	}.start()
	if err != nil {
		return err
	}
	if err := server.ready(s.check); err != nil {
		server.kill()
		return err
	}
	s.server = server
	return nil
}

// leftovers tells whether the start failed because backends of the killed server are still running.
func (s *PGServer) leftovers() bool {
	b, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	return err == nil && len(b) > 0
}

// check returns an error unless this server answers, and not another server on the same port.
func (s *PGServer) check() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(ctx) }()
	var dir string
	if err := c.QueryRow(ctx, "SHOW data_directory").Scan(&dir); err != nil {
		return err
	}
	if dir != s.data() {
		return fmt.Errorf("another server answers on %s", s.Addr)
	}
	return nil
}

// remove stops the server and deletes its files.
func (s *PGServer) remove() {
	if s.admin != nil {
		_ = s.admin.Close(context.Background())
	}
	if s.server != nil {
		s.server.end(syscall.SIGQUIT) // The data is not kept, so the server need not shut down cleanly.
		s.server = nil
	}
	_ = os.RemoveAll(s.root)
}
