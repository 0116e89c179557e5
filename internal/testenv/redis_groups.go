package testenv

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// RedisCluster is a Redis Cluster for one test.
type RedisCluster struct {
	Primaries []*RedisServer
	Replicas  []*RedisServer // One for each primary, in the same order. Nil without replicas.
}

const (
	clusterPrimaries = 3
	clusterDeadline  = 60 * time.Second
)

// Cluster starts three primaries, each with a third of the slots, and waits until each knows all slots. Further
// arguments are passed to every server.
func Cluster(t testing.TB, args ...string) *RedisCluster {
	t.Helper()
	return newCluster(t, false, args)
}

// ClusterWithReplicas is Cluster with a replica for each primary.
func ClusterWithReplicas(t testing.TB, args ...string) *RedisCluster {
	t.Helper()
	return newCluster(t, true, args)
}

func newCluster(t testing.TB, replicas bool, args []string) *RedisCluster {
	t.Helper()
	c := &RedisCluster{}
	for i := range clusterPrimaries {
		r := clusterNode(t, args)
		r.do("CLUSTER", "SET-CONFIG-EPOCH", i+1)
		r.do("CLUSTER", "ADDSLOTSRANGE", i*slots/clusterPrimaries, (i+1)*slots/clusterPrimaries-1)
		c.Primaries = append(c.Primaries, r)
	}
	if replicas {
		for range clusterPrimaries {
			c.Replicas = append(c.Replicas, clusterNode(t, args))
		}
	}
	first := c.Primaries[0]
	for _, r := range c.all()[1:] {
		r.do("CLUSTER", "MEET", "127.0.0.1", first.port, first.busPort())
	}
	c.await(t)
	for i, r := range c.Replicas {
		r.do("CLUSTER", "REPLICATE", c.Primaries[i].do("CLUSTER", "MYID"))
		Eventually(t, r.follows, clusterDeadline)
	}
	return c
}

const slots = 16384

// clusterNode starts a server that will join a cluster. It picks a free port for its bus, because the usual one, 10,000
// above the server's port, may be taken.
func clusterNode(t testing.TB, args []string) *RedisServer {
	t.Helper()
	bus, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	return Redis(t, append([]string{
		"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus), "--cluster-node-timeout", "2000",
	}, args...)...)
}

func (r *RedisServer) busPort() string {
	for i, arg := range r.args {
		if arg == "--cluster-port" {
			return r.args[i+1]
		}
	}
	return ""
}

func (c *RedisCluster) all() []*RedisServer {
	return append(append([]*RedisServer{}, c.Primaries...), c.Replicas...)
}

// Addrs returns the addresses of the primaries at the start, for a client to begin with.
func (c *RedisCluster) Addrs() []string {
	var list []string
	for _, r := range c.Primaries {
		list = append(list, r.Addr)
	}
	return list
}

// await waits until every running server knows all others and sees every slot served.
func (c *RedisCluster) await(t testing.TB) {
	t.Helper()
	known := "cluster_known_nodes:" + strconv.Itoa(len(c.all()))
	Eventually(t, func() bool {
		for _, r := range c.all() {
			if r.server == nil {
				continue
			}
			info, _ := r.do("CLUSTER", "INFO").(string)
			if !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, known) {
				return false
			}
		}
		return true
	}, clusterDeadline)
}

// Primary returns the position of the primary that holds the key.
func (c *RedisCluster) Primary(key string) int {
	r := c.Primaries[0]
	r.t.Helper()
	slot, _ := r.do("CLUSTER", "KEYSLOT", key).(int64)
	return min(int(slot)*clusterPrimaries/slots, clusterPrimaries-1)
}

// FailOver kills a primary and makes its replica the primary, with the replica's data.
func (c *RedisCluster) FailOver(t testing.TB, primary int) {
	t.Helper()
	c.Primaries[primary].Kill()
	replica := c.Replicas[primary]
	replica.do("CLUSTER", "FAILOVER", "TAKEOVER")
	Eventually(t, func() bool { return replica.is("role:master") }, clusterDeadline)
	c.await(t)
}

// FlushAll empties every running primary.
func (c *RedisCluster) FlushAll(t testing.TB) {
	t.Helper()
	for _, r := range c.Primaries {
		if r.server != nil {
			r.do("FLUSHALL")
		}
	}
}

// follows tells whether the server is a replica with all data of its primary.
func (r *RedisServer) follows() bool {
	r.t.Helper()
	return r.is("role:slave") && r.is("master_link_status:up")
}

func (r *RedisServer) is(line string) bool {
	c := redis.NewClient(&redis.Options{Addr: r.Addr, MaxRetries: -1})
	defer func() { _ = c.Close() }()
	info, err := c.Info(context.Background(), "replication").Result()
	return err == nil && strings.Contains(info, line)
}

// Freeze pauses the server until Thaw. A frozen replica lags behind.
func (r *RedisServer) Freeze() {
	r.t.Helper()
	_ = r.server.cmd.Process.Signal(syscall.SIGSTOP)
}

// Thaw ends Freeze.
func (r *RedisServer) Thaw() {
	r.t.Helper()
	_ = r.server.cmd.Process.Signal(syscall.SIGCONT)
}

// RedisSentinel is a primary with a replica and a Sentinel that watches them.
type RedisSentinel struct {
	Addr    string // The address of the Sentinel.
	Name    string // The name of the primary, for clients.
	Primary *RedisServer
	Replica *RedisServer
}

// sentinelConfig has the name of the primary and its port.
const sentinelConfig = `sentinel monitor %[1]s 127.0.0.1 %[2]d 1
sentinel down-after-milliseconds %[1]s 500
sentinel failover-timeout %[1]s 5000
`

// Sentinel starts all three servers, and waits until the Sentinel knows the replica. The Sentinel replaces a killed
// primary within seconds.
func Sentinel(t testing.TB) *RedisSentinel {
	t.Helper()
	s := &RedisSentinel{Name: "tallyman", Primary: Redis(t)}
	s.Replica = Replica(t, s.Primary)
	s.Addr = StartSentinels(t, s.Name, fmt.Sprintf(sentinelConfig, s.Name, s.Primary.port), 1)[0]
	return s
}

// StartSentinels starts count Sentinels and returns their addresses. Each has the settings in a file of its own.
// StartSentinels waits until each Sentinel knows a replica of the primary with the name, and all other Sentinels.
func StartSentinels(t testing.TB, name, settings string, count int) (addresses []string) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal(redisMissing)
	}
	for range count {
		port, err := freePort()
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		file := filepath.Join(dir, "sentinel.conf")
		if err := os.WriteFile(file, fmt.Appendf(nil, "port %d\nbind 127.0.0.1\ndir %s\n%s", port, dir, settings), 0o600); err != nil {
			t.Fatal(err)
		}
		server, err := launch{path: path, args: []string{file, "--sentinel"}, dir: dir, death: syscall.SIGKILL}.start()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.kill)
		addresses = append(addresses, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	for _, address := range addresses {
		client := redis.NewSentinelClient(&redis.Options{Addr: address})
		Eventually(t, func() bool {
			replicas, err := client.Replicas(t.Context(), name).Result()
			if err != nil || len(replicas) == 0 {
				return false
			}
			others, err := client.Sentinels(t.Context(), name).Result()
			return err == nil && len(others) == count-1
		}, 30*time.Second)
		_ = client.Close()
	}
	return addresses
}

// AwaitFailover waits until the replica has taken the place of a killed primary.
func (s *RedisSentinel) AwaitFailover(t testing.TB) {
	t.Helper()
	Eventually(t, func() bool { return s.Replica.is("role:master") }, 60*time.Second)
}

// Replica starts a redis-server that follows the server, and waits until the replica has all data of the server.
func Replica(t testing.TB, of *RedisServer) *RedisServer {
	t.Helper()
	r := Redis(t)
	r.do("REPLICAOF", "127.0.0.1", of.port)
	Eventually(t, r.follows, 30*time.Second)
	return r
}

// WaitForReplica waits until the replica has everything that was written to r so far.
func (r *RedisServer) WaitForReplica(replica *RedisServer) {
	r.t.Helper()
	Eventually(r.t, func() bool { return r.offset() == replica.offset() }, 10*time.Second)
}

// StopReplication cuts the replica off from its primary. It stays a replica with its current data, and lags from now
// on.
func (r *RedisServer) StopReplication() {
	r.t.Helper()
	const nobody = 1 // A port on which no server listens.
	r.do("REPLICAOF", "127.0.0.1", nobody)
}

// Promote makes the replica a primary that accepts writes.
func (r *RedisServer) Promote() {
	r.t.Helper()
	r.do("REPLICAOF", "NO", "ONE")
}

// offset returns the position in the stream of writes.
func (r *RedisServer) offset() string {
	r.t.Helper()
	info, _ := r.do("INFO", "replication").(string)
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(line, "master_repl_offset:"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// sharedRedis is a server that the tests of the process share. The first test that needs it starts it.
type sharedRedis[T any] struct {
	once   sync.Once
	life   *lifetime
	server *T
}

var (
	sharedCluster  sharedRedis[RedisCluster]
	sharedSentinel sharedRedis[RedisSentinel]
)

func (s *sharedRedis[T]) get(t testing.TB, start func(testing.TB) *T) *T {
	t.Helper()
	s.once.Do(func() {
		s.life = &lifetime{TB: t}
		s.server = start(s.life)
	})
	if s.server == nil {
		t.Fatal("the shared Redis did not start")
	}
	return s.server
}

func (s *sharedRedis[T]) stop() {
	if s.life != nil {
		s.life.end()
	}
}

// SharedCluster returns a Redis Cluster that the tests of the process share, because three primaries take seconds to
// find each other. Each test needs keys of its own, and must not stop or change the servers.
func SharedCluster(t testing.TB) *RedisCluster {
	t.Helper()
	return sharedCluster.get(t, func(t testing.TB) *RedisCluster {
		t.Helper()
		return Cluster(t)
	})
}

// SharedSentinel returns a Sentinel that the tests of the process share. Its primary has died, and the replica has
// taken its place. Each test needs keys of its own, and must not stop or change the servers.
func SharedSentinel(t testing.TB) *RedisSentinel {
	t.Helper()
	return sharedSentinel.get(t, func(t testing.TB) *RedisSentinel {
		t.Helper()
		s := Sentinel(t)
		s.Primary.Kill()
		s.AwaitFailover(t)
		return s
	})
}

func stopSharedRedis() {
	sharedCluster.stop()
	sharedSentinel.stop()
}

// lifetime is a testing.TB for shared servers, which live longer than the test that starts them.
type lifetime struct {
	testing.TB

	ends []func()
}

// Cleanup calls f at the end of the lifetime.
func (l *lifetime) Cleanup(f func()) { l.ends = append(l.ends, f) }

// TempDir returns a folder that is removed at the end of the lifetime.
func (l *lifetime) TempDir() string {
	dir, err := os.MkdirTemp("", "tallyman-redis")
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (l *lifetime) end() {
	for _, f := range slices.Backward(l.ends) {
		f()
	}
	l.ends = nil
}
