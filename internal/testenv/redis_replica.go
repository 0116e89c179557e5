package testenv

import (
	"strings"
	"testing"
	"time"
)

// Replica starts a redis-server that follows of, and waits until it holds what of holds.
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

// StopReplication cuts the replica off: it stays a replica, with what it has, and lags from now on.
func (r *RedisServer) StopReplication() {
	r.t.Helper()
	const nobody = 1 // a port on which nothing listens
	r.do("REPLICAOF", "127.0.0.1", nobody)
}

// Promote makes the replica a primary that takes writes.
func (r *RedisServer) Promote() {
	r.t.Helper()
	r.do("REPLICAOF", "NO", "ONE")
}

// offset is the position in the stream of writes.
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
