package testenv

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestRedisKeepsOnlyWhatWasSaved(t *testing.T) {
	t.Parallel()
	r := Redis(t)
	c := r.Client(t)
	set(t, c, "saved", "yes")
	r.Save()
	set(t, c, "lost", "yes")
	addr := r.Addr
	r.Restart()
	if r.Addr != addr {
		t.Errorf("the address went from %s to %s", addr, r.Addr)
	}
	if n := c.Exists(t.Context(), "saved").Val(); n != 1 {
		t.Error("the saved key is gone")
	}
	if n := c.Exists(t.Context(), "lost").Val(); n != 0 {
		t.Error("a key that was not saved is still there: the server was not killed")
	}
}

func TestReplicaLagsUntilPromoted(t *testing.T) {
	t.Parallel()
	primary := Redis(t)
	pc := primary.Client(t)
	set(t, pc, "k", "1")
	replica := Replica(t, primary)
	rc := replica.Client(t)
	set(t, pc, "k", "2")
	primary.WaitForReplica(replica)
	if v := rc.Get(t.Context(), "k").Val(); v != "2" {
		t.Fatalf("the replica has %q, want 2", v)
	}
	replica.StopReplication()
	set(t, pc, "k", "3")
	if err := rc.Set(t.Context(), "k", "x", 0).Err(); err == nil {
		t.Error("a replica took a write")
	}
	replica.Promote()
	if v := rc.Get(t.Context(), "k").Val(); v != "2" {
		t.Errorf("the promoted replica has %q, want the 2 of before it lagged", v)
	}
	set(t, rc, "k", "4")
}

func TestRedisTakesArguments(t *testing.T) {
	t.Parallel()
	c := Redis(t, "--maxmemory-policy", "allkeys-lru").Client(t)
	if got := c.ConfigGet(t.Context(), "maxmemory-policy").Val()["maxmemory-policy"]; got != "allkeys-lru" {
		t.Errorf("maxmemory-policy is %q", got)
	}
}

func TestMiniredisClockMoves(t *testing.T) {
	t.Parallel()
	c := redis.NewClient(&redis.Options{Addr: Miniredis(t).Addr()})
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Set(t.Context(), "k", "v", 20*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	Eventually(t, func() bool { return c.Exists(t.Context(), "k").Val() == 0 }, 5*time.Second)
}

func TestProxySwitchesAndCuts(t *testing.T) {
	t.Parallel()
	a, b := Redis(t), Redis(t)
	set(t, a.Client(t), "who", "a")
	set(t, b.Client(t), "who", "b")
	p := NewProxy(t, a.Addr)
	c := redis.NewClient(&redis.Options{Addr: p.Addr})
	t.Cleanup(func() { _ = c.Close() })
	who := func() string { return c.Get(t.Context(), "who").Val() }
	if got := who(); got != "a" {
		t.Fatalf("got %q, want a", got)
	}
	p.Point(b.Addr)
	Eventually(t, func() bool { return who() == "b" }, 5*time.Second)
	p.Cut()
	if err := c.Ping(t.Context()).Err(); err == nil {
		t.Error("a cut proxy answered")
	}
	p.Point(a.Addr)
	Eventually(t, func() bool { return who() == "a" }, 5*time.Second)
}

func set(t *testing.T, c *redis.Client, key, value string) {
	t.Helper()
	if err := c.Set(t.Context(), key, value, 0).Err(); err != nil {
		t.Fatal(err)
	}
}
