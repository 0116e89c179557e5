package engine

import (
	"context"
	"hash/fnv"
	"sync/atomic"
	"time"

	"tallyman/internal/ledger"
)

// courtesy is how long a node lets the others begin that come first: by then a quick run is done, and asking for it
// costs little.
const courtesy = 200 * time.Millisecond

// share says which node comes first for the firings of a rule in a scope. It is a hint, which spares the nodes claims
// in vain and lets a node remember what its last run has found: the claim decides who runs. Each node has a number for
// each rule and scope, and the highest comes first. So a node that joins takes from each other node its share, and one
// that leaves gives each its own.
type share struct{ known atomic.Pointer[sessions] }

// sessions are those of the nodes that are there.
type sessions struct {
	own    string
	others []string
}

// look asks the ledger who is there.
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

// wait is how long this node waits for another to begin the firings of unit.shareKey.
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

// shareKey stands for what one node does together: a scan group, or the rule in the scope.
func (u *unit) shareKey() string {
	if u.group != nil {
		return u.group.name
	}
	return ledger.ScopeKey(u.rule.ID, u.rule.Scope)
}

func place(session, key string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(session + "\x00" + key))
	n := h.Sum64() // sessions and keys that are much alike have numbers that are much alike, until they are mixed
	n ^= n >> 33
	n *= 0xff51afd7ed558ccd
	n ^= n >> 33
	n *= 0xc4ceb9fe1a85ec53
	return n ^ n>>33
}
