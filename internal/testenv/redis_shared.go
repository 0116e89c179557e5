package testenv

import (
	"os"
	"slices"
	"sync"
	"testing"
)

// sharedRedis is a server that is started by the first test that asks, and stopped with the process.
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

// SharedCluster returns a Redis Cluster that the tests of the process share: three primaries take seconds to find each other.
// Each test needs keys of its own, and must leave the servers alone.
func SharedCluster(t testing.TB) *RedisCluster {
	t.Helper()
	return sharedCluster.get(t, func(t testing.TB) *RedisCluster {
		t.Helper()
		return Cluster(t)
	})
}

// SharedSentinel returns a Sentinel that the tests of the process share. Its primary has died, and the replica has taken its place.
// Each test needs keys of its own, and must leave the servers alone.
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

// lifetime is a test whose servers live on after it.
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
