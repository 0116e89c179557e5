package testenv

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestClusterFailsOverToWhatTheReplicaHolds(t *testing.T) {
	t.Parallel()
	c := ClusterWithReplicas(t)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()})
	t.Cleanup(func() { _ = client.Close() })
	keys := []string{"{a}", "{b}", "{c}", "{d}", "{e}", "{f}"}
	for _, key := range keys {
		if err := client.Set(t.Context(), key, "1", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	lost := c.Primary(keys[0])
	c.Primaries[lost].WaitForReplica(c.Replicas[lost])
	c.FailOver(t, lost)
	client.ReloadState(t.Context()) // a client that does not ask finds out within seconds
	for _, key := range keys {
		Eventually(t, func() bool { return client.Get(t.Context(), key).Val() == "1" }, 30*time.Second)
	}
}

func TestSentinelReplacesAPrimaryThatDied(t *testing.T) {
	t.Parallel()
	s := Sentinel(t)
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: s.Name, SentinelAddrs: []string{s.Addr}})
	t.Cleanup(func() { _ = client.Close() })
	set(t, client, "k", "1")
	s.Primary.WaitForReplica(s.Replica)
	s.Primary.Kill()
	s.AwaitFailover(t)
	Eventually(t, func() bool { return client.Set(t.Context(), "k", "2", 0).Err() == nil }, 30*time.Second)
	if got := s.Replica.Client(t).Get(t.Context(), "k").Val(); got != "2" {
		t.Errorf("the replica holds %q", got)
	}
}
