package testenv

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// RedisSentinel is a primary with a replica and a Sentinel that watches them.
type RedisSentinel struct {
	Addr    string // of the Sentinel
	Name    string // of the primary, for clients
	Primary *RedisServer
	Replica *RedisServer
}

const sentinelConfig = `port %[1]d
bind 127.0.0.1
dir %[2]s
sentinel monitor %[3]s 127.0.0.1 %[4]d 1
sentinel down-after-milliseconds %[3]s 500
sentinel failover-timeout %[3]s 5000
`

// Sentinel starts all three, and waits until the Sentinel knows the replica. A primary that is killed is replaced within
// seconds.
func Sentinel(t testing.TB) *RedisSentinel {
	t.Helper()
	s := &RedisSentinel{Name: "tallyman", Primary: Redis(t)}
	s.Replica = Replica(t, s.Primary)
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal(redisMissing)
	}
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	s.Addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	dir := t.TempDir()
	file := filepath.Join(dir, "sentinel.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, sentinelConfig, port, dir, s.Name, s.Primary.port), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := launch{path: path, args: []string{file, "--sentinel"}, dir: dir, death: syscall.SIGKILL}.start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.kill)
	client := redis.NewSentinelClient(&redis.Options{Addr: s.Addr})
	defer func() { _ = client.Close() }()
	Eventually(t, func() bool {
		replicas, err := client.Replicas(t.Context(), s.Name).Result()
		return err == nil && len(replicas) == 1
	}, 30*time.Second)
	return s
}

// AwaitFailover waits until the replica has taken the place of a primary that was killed.
func (s *RedisSentinel) AwaitFailover(t testing.TB) {
	t.Helper()
	Eventually(t, func() bool { return s.Replica.is("role:master") }, 60*time.Second)
}
