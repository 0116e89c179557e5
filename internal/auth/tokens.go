package auth

import (
	"crypto/subtle"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"tallyman/internal/ledger"
)

// Tokens holds the API tokens of the ledger in memory. It is safe for concurrent use.
type Tokens struct {
	mu   sync.Mutex // of those who change it
	list atomic.Pointer[map[string]*held]
}

// NewTokens knows no token yet; see Set.
func NewTokens() *Tokens {
	t := &Tokens{}
	t.list.Store(&map[string]*held{})
	return t
}

// held is one token.
type held struct {
	hash    []byte
	who     Identity
	ended   chan struct{}
	end     func() // closes ended; more than once is fine
	timer   *time.Timer
	revoked atomic.Bool
	used    atomic.Int64 // the latest use, in µs
	told    atomic.Int64 // the latest use that Used has told
}

// Set takes over all tokens as the ledger has them. Those that were revoked, or are gone, end at once.
func (t *Tokens) Set(list []ledger.Token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := *t.list.Load()
	now := make(map[string]*held, len(list))
	for i := range list {
		h := before[list[i].ID]
		if h == nil {
			h = hold(&list[i])
		}
		if !list[i].Revoked.IsZero() {
			h.revoke()
		}
		now[list[i].ID] = h
	}
	t.list.Store(&now)
	for id, h := range before {
		if now[id] == nil {
			h.revoke()
		}
	}
}

// Add takes over one token more.
func (t *Tokens) Add(token ledger.Token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := *t.list.Load()
	if before[token.ID] != nil {
		return
	}
	now := maps.Clone(before)
	now[token.ID] = hold(&token)
	t.list.Store(&now)
}

// Revoke ends a token at once.
func (t *Tokens) Revoke(id string) {
	if h := (*t.list.Load())[id]; h != nil {
		h.revoke()
	}
}

// Close ends the timers of all tokens, and no token.
func (t *Tokens) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range *t.list.Load() {
		h.stop()
	}
}

func hold(token *ledger.Token) *held {
	h := &held{hash: token.Hash, ended: make(chan struct{})}
	h.end = sync.OnceFunc(func() { close(h.ended) })
	h.who = Identity{
		Subject: token.Subject, Subscribers: token.Subscribers, Warehouses: token.Warehouses,
		Token: token.ID, Expires: token.Expires, Ended: h.ended,
	}
	for _, role := range token.Access {
		h.who.Access = append(h.who.Access, Role(role))
	}
	h.told.Store(token.Used.UnixMicro())
	h.used.Store(token.Used.UnixMicro())
	if !token.Expires.IsZero() {
		h.timer = time.AfterFunc(time.Until(token.Expires), h.end)
	}
	return h
}

func (h *held) revoke() {
	h.revoked.Store(true)
	h.stop()
	h.end()
}

func (h *held) stop() {
	if h.timer != nil {
		h.timer.Stop()
	}
}

// identify finds the token with that secret. It is looked up by a part of its hash, which nobody can steer, and the whole is compared in
// constant time.
func (t *Tokens) identify(secret string, now time.Time) (Identity, error) {
	if !whole(secret) {
		return Identity{}, fmt.Errorf("%w: it was cut or mistyped", ErrBadToken)
	}
	hash := HashSecret(secret)
	h := (*t.list.Load())[tokenID(hash)]
	switch {
	case h == nil || subtle.ConstantTimeCompare(h.hash, hash) != 1:
		return Identity{}, fmt.Errorf("%w: nobody has it", ErrBadToken)
	case h.revoked.Load():
		return Identity{}, ErrRevoked
	case !h.who.Expires.IsZero() && !now.Before(h.who.Expires):
		return Identity{}, ErrExpired
	}
	if us := now.UnixMicro(); us > h.used.Load() {
		h.used.Store(us)
	}
	return h.who, nil
}

// Used returns when tokens were used last, of those that were used since it was asked before.
func (t *Tokens) Used() map[string]time.Time {
	out := map[string]time.Time{}
	for id, h := range *t.list.Load() {
		if used := h.used.Load(); used > h.told.Load() {
			h.told.Store(used)
			out[id] = time.UnixMicro(used).UTC()
		}
	}
	return out
}
