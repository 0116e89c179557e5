package testenv

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

const redisMissing = `redis-server is not installed, and these tests need it.
  Debian, Ubuntu: apt-get install redis-server     (make test does it, as root)
  macOS:          brew install redis`

// RedisServer is a redis-server for one test. It writes a snapshot only when Save is called.
type RedisServer struct {
	Addr string // host:port. Restart keeps it.

	t      testing.TB
	port   int
	dir    string
	args   []string
	server *process // Nil means the server is not running.
}

// Redis starts a redis-server on a free port. Further arguments are passed to the server, for example
// "--maxmemory-policy", "allkeys-lru".
func Redis(t testing.TB, args ...string) *RedisServer {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Fatal(redisMissing)
	}
	r := &RedisServer{t: t, dir: t.TempDir(), args: args}
	t.Cleanup(r.Stop)
	var err error
	for range 5 { // Another process may take the port between the choice and the start.
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

// Save writes a snapshot. The next Restart begins with it.
func (r *RedisServer) Save() {
	r.t.Helper()
	r.do("SAVE")
}

// Kill sends kill -9 to the server, so that data without a Save is lost. It does nothing where the server is not
// running.
func (r *RedisServer) Kill() {
	if r.server != nil {
		r.server.kill()
		r.server = nil
	}
}

// Stop ends the server without a snapshot. It does nothing where the server is not running.
func (r *RedisServer) Stop() {
	if r.server != nil {
		r.server.end(syscall.SIGTERM)
		r.server = nil
	}
}

// Restart starts the server again on the same port, with its last snapshot or empty. It kills a running server first.
func (r *RedisServer) Restart() {
	r.t.Helper()
	r.Kill()
	var err error
	for range 5 { // Another process may probe the port at this moment.
		if err = r.start(); err == nil {
			return
		}
	}
	r.t.Fatal(err)
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

// check returns an error unless this server answers, and not another server on the same port.
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

// Miniredis starts an in-process Redis whose keys expire as the clock moves, as in the embedded mode.
func Miniredis(t testing.TB) *miniredis.Miniredis {
	t.Helper()
	m := miniredis.NewMiniRedis()
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	m.ClockTTL(true)
	return m
}

// Loss is a Redis that will lose data in a test. For a Cluster, Addr has several addresses with commas between them.
// For a Sentinel, Addr has the form NAME@ADDRESS: the name of the primary, and the address of the Sentinel.
type Loss struct {
	*testing.T
	Addr     string
	Snapshot func() // Keeps the current data. After the loss this state may come back.
	Lose     func()
}

// Losses runs a test for each way in which Redis can lose data. In a Cluster, the primary of the key loses data; the
// case flushall empties all primaries.
func Losses(t *testing.T, key string, test func(t Loss)) {
	t.Helper()
	for name, begin := range map[string]func(t *testing.T) Loss{
		"flushall": func(t *testing.T) Loss {
			t.Helper()
			r := Redis(t)
			return Loss{t, r.Addr, func() {}, func() { r.do("FLUSHALL") }}
		},
		"flushall of the in-process Redis": func(t *testing.T) Loss {
			t.Helper()
			m := Miniredis(t)
			return Loss{t, m.Addr(), func() {}, m.FlushAll}
		},
		"kill -9 and restart": func(t *testing.T) Loss {
			t.Helper()
			r := Redis(t)
			return Loss{t, r.Addr, func() {}, r.Restart}
		},
		"restart from an older snapshot": func(t *testing.T) Loss {
			t.Helper()
			r := Redis(t)
			return Loss{t, r.Addr, r.Save, r.Restart}
		},
		"promotion of a replica that lags behind": lagging,
		"flushall of a cluster": func(t *testing.T) Loss {
			t.Helper()
			c := Cluster(t)
			return Loss{t, strings.Join(c.Addrs(), ","), func() {}, func() { c.FlushAll(t) }}
		},
		"failover of a cluster's primary to a replica that lags behind": func(t *testing.T) Loss {
			t.Helper()
			c := ClusterWithReplicas(t)
			primary := c.Primary(key)
			replica := c.Replicas[primary]
			freeze := func() {
				c.Primaries[primary].WaitForReplica(replica)
				replica.Freeze()
			}
			return Loss{t, strings.Join(c.Addrs(), ","), freeze, func() {
				c.Primaries[primary].Kill()
				replica.Thaw()
				c.FailOver(t, primary)
			}}
		},
		"failover by a Sentinel to a replica that lags behind": func(t *testing.T) Loss {
			t.Helper()
			s := Sentinel(t)
			freeze := func() {
				s.Primary.WaitForReplica(s.Replica)
				s.Replica.Freeze()
			}
			return Loss{t, s.Name + "@" + s.Addr, freeze, func() {
				s.Primary.Kill()
				s.Replica.Thaw()
				s.AwaitFailover(t)
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(begin(t))
		})
	}
}

// lagging promotes a replica that does not have the newest data.
func lagging(t *testing.T) Loss {
	t.Helper()
	primary := Redis(t)
	replica := Replica(t, primary)
	proxy := NewProxy(t, primary.Addr)
	snapshot := func() {
		primary.WaitForReplica(replica)
		replica.StopReplication()
	}
	return Loss{t, proxy.Addr, snapshot, func() {
		replica.Promote()
		proxy.Point(replica.Addr)
	}}
}
