package testenv

import (
	"strings"
	"testing"
)

// Loss is a test with a Redis that is about to lose something. Several addresses, with commas between them, are a Cluster;
// those of Sentinels follow the name of their primary and an @.
type Loss struct {
	*testing.T
	Addr     string
	Snapshot func() // what Redis holds now may come back
	Lose     func()
}

// Losses runs a test with each of the ways in which Redis loses what it held. In a Cluster it is the node of the key that does.
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

// lagging promotes a replica that has not got everything.
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
