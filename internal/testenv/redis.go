package testenv

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
)

const redisMissing = `redis-server is not installed, and these tests need it.
  Debian, Ubuntu: apt-get install redis-server     (make test does it, as root)
  macOS:          brew install redis`

// RedisServer is a redis-server of one test. It writes a snapshot only when Save is called.
type RedisServer struct {
	Addr string // host:port; stays the same over Restart

	t      testing.TB
	port   int
	dir    string
	args   []string
	server *process // nil = not running
}

// Redis starts a redis-server on a free port. Further arguments go to it as they are, for example
// "--maxmemory-policy", "allkeys-lru".
func Redis(t testing.TB, args ...string) *RedisServer {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Fatal(redisMissing)
	}
	r := &RedisServer{t: t, dir: t.TempDir(), args: args}
	t.Cleanup(r.Stop)
	var err error
	for range 5 { // another process may take the port between the choice and the start
		if r.port, err = freePort(); err != nil {
			break
		}
		r.Addr = "127.0.0.1:" + strconv.Itoa(r.port)
		if err = r.start(); err == nil {
			return r
		}
	}
	t.Fatal(err)
	return nil
}

// URL returns the address as redis://host:port/0.
func (r *RedisServer) URL() string { return "redis://" + r.Addr + "/0" }

// Client returns a client that is closed at the end of the test.
func (r *RedisServer) Client(t testing.TB) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: r.Addr})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Save writes the snapshot that the next Restart begins with.
func (r *RedisServer) Save() {
	r.t.Helper()
	r.do("SAVE")
}

// Kill is kill -9: what was not saved is lost. Killing a server that does not run does nothing.
func (r *RedisServer) Kill() {
	if r.server != nil {
		r.server.kill()
		r.server = nil
	}
}

// Stop ends the server without a snapshot. Stopping a server that does not run does nothing.
func (r *RedisServer) Stop() {
	if r.server != nil {
		r.server.end(syscall.SIGTERM)
		r.server = nil
	}
}

// Restart starts the server again on the same port with its last snapshot, or empty where there is none.
// A server that runs is killed first.
func (r *RedisServer) Restart() {
	r.t.Helper()
	r.Kill()
	if err := r.start(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *RedisServer) start() error {
	args := append([]string{
		"--port", strconv.Itoa(r.port), "--bind", "127.0.0.1", "--dir", r.dir, "--daemonize", "no",
		"--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0",
	}, r.args...)
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return err
	}
	server, err := launch{path: path, args: args, dir: r.dir, death: syscall.SIGKILL}.start()
	if err != nil {
		return err
	}
	if err := server.ready(func() error { return r.check(server) }); err != nil {
		server.kill()
		return err
	}
	r.server = server
	return nil
}

var processID = regexp.MustCompile(`process_id:(\d+)`)

// check tells whether it is this server that answers, not a stranger on the same port.
func (r *RedisServer) check(server *process) error {
	c := redis.NewClient(&redis.Options{Addr: r.Addr, MaxRetries: -1})
	defer func() { _ = c.Close() }()
	info, err := c.Info(context.Background(), "server").Result()
	if err != nil {
		return err
	}
	if m := processID.FindStringSubmatch(info); m == nil || m[1] != strconv.Itoa(server.cmd.Process.Pid) {
		return fmt.Errorf("another server answers on %s", r.Addr)
	}
	// A server that still loads its snapshot answers INFO, but nothing else.
	return c.Ping(context.Background()).Err()
}

// do runs one command that must succeed.
func (r *RedisServer) do(args ...any) any {
	r.t.Helper()
	c := redis.NewClient(&redis.Options{Addr: r.Addr})
	defer func() { _ = c.Close() }()
	res, err := c.Do(context.Background(), args...).Result()
	if err != nil {
		r.t.Fatalf("redis on %s: %v: %v", r.Addr, args, err)
	}
	return res
}
