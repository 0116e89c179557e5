package testenv

import (
	"context"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// RedisCluster is a Redis Cluster of one test.
type RedisCluster struct {
	Primaries []*RedisServer
	Replicas  []*RedisServer // one of each primary, in their order; nil without
}

const (
	clusterPrimaries = 3
	clusterDeadline  = 60 * time.Second
)

// Cluster starts three primaries, each with a third of the slots, and waits until all of them answer for all. Further
// arguments go to every server.
func Cluster(t testing.TB, args ...string) *RedisCluster {
	t.Helper()
	return newCluster(t, false, args)
}

// ClusterWithReplicas starts a replica of each primary, too.
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

// clusterNode starts a server that waits to be met. Its bus has a port of its own choice, since the usual one, 10,000 above
// its own, may be taken.
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

// Addrs are the addresses of the primaries as they were at the start, for a client to begin with.
func (c *RedisCluster) Addrs() []string {
	var list []string
	for _, r := range c.Primaries {
		list = append(list, r.Addr)
	}
	return list
}

// await waits until every server that runs knows all others and sees every slot served.
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

// FailOver kills a primary and has its replica take its place, with what it holds.
func (c *RedisCluster) FailOver(t testing.TB, primary int) {
	t.Helper()
	c.Primaries[primary].Kill()
	replica := c.Replicas[primary]
	replica.do("CLUSTER", "FAILOVER", "TAKEOVER")
	Eventually(t, func() bool { return replica.is("role:master") }, clusterDeadline)
	c.await(t)
}

// FlushAll empties every primary that runs.
func (c *RedisCluster) FlushAll(t testing.TB) {
	t.Helper()
	for _, r := range c.Primaries {
		if r.server != nil {
			r.do("FLUSHALL")
		}
	}
}

// follows tells whether the server is a replica that holds what its primary holds.
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

// Freeze stops the server where it is, and Thaw lets it go on: a replica that was frozen lags behind.
func (r *RedisServer) Freeze() {
	r.t.Helper()
	_ = r.server.cmd.Process.Signal(syscall.SIGSTOP)
}

// Thaw ends Freeze.
func (r *RedisServer) Thaw() {
	r.t.Helper()
	_ = r.server.cmd.Process.Signal(syscall.SIGCONT)
}
