package testenv

import (
	"os"
	"slices"
	"sync"
	"testing"
)

// sharedCluster is the one behind SharedCluster: started by the first test that asks, stopped with the process.
var sharedCluster struct {
	once    sync.Once
	life    *lifetime
	cluster *RedisCluster
}

// SharedCluster returns a Redis Cluster that the tests of the process share: three primaries take seconds to find each other.
// Each test needs keys of its own, and must leave the servers alone.
func SharedCluster(t testing.TB) *RedisCluster {
	t.Helper()
	s := &sharedCluster
	s.once.Do(func() {
		s.life = &lifetime{TB: t}
		s.cluster = Cluster(s.life)
	})
	if s.cluster == nil {
		t.Fatal("the shared Redis Cluster did not start")
	}
	return s.cluster
}

func stopSharedCluster() {
	if sharedCluster.life != nil {
		sharedCluster.life.end()
	}
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
