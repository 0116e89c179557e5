package engine

import (
	"context"
	"hash/fnv"
	"sync/atomic"
	"time"

	"tallyman/internal/ledger"
)

// courtesy is how long a node waits when another node comes first for a firing. After that time a quick run is done,
// and the ledger answers the late claim cheaply.
const courtesy = 200 * time.Millisecond

// share says which node comes first for the firings of a rule in a scope. share is only a hint: the claim decides who
// runs. The hint saves claims in vain, and lets a node build on the open findings of its own last run. Each node has a
// number for each rule and scope, and the highest number comes first (rendezvous hashing). So a node that joins takes
// an equal share from every other node. The share of a node that leaves is spread over the other nodes.
type share struct{ known atomic.Pointer[sessions] }

// sessions are the sessions of the live nodes.
type sessions struct {
	own    string
	others []string
}

// look asks the ledger for the live nodes.
func (s *share) look(ctx context.Context, l Ledger, own string) error {
	nodes, err := l.Nodes(ctx)
	if err != nil {
		return err
	}
	known := &sessions{own: own}
	for _, n := range nodes {
		if n.Session != own {
			known.others = append(known.others, n.Session)
		}
	}
	s.known.Store(known)
	return nil
}

// wait returns how long this node lets another node begin first. key is unit.shareKey.
func (s *share) wait(key string) time.Duration {
	known := s.known.Load()
	if known == nil || len(known.others) == 0 {
		return 0
	}
	own := place(known.own, key)
	for _, other := range known.others {
		if place(other, key) > own {
			return courtesy
		}
	}
	return 0
}

// shareKey names the work that one node should do together: a scan group, or the rule in the scope.
func (u *unit) shareKey() string {
	if u.group != nil {
		return u.group.name
	}
	return ledger.ScopeKey(u.rule.ID, u.rule.Scope)
}

func place(session, key string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(session + "\x00" + key))
	n := h.Sum64() // FNV gives similar numbers to similar inputs. The lines below mix the bits.
	n ^= n >> 33
	n *= 0xff51afd7ed558ccd
	n ^= n >> 33
	n *= 0xc4ceb9fe1a85ec53
	return n ^ n>>33
}
