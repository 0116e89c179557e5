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
	mu      sync.Mutex // of those who change it
	list    atomic.Pointer[map[string]*tokenEntry]
	changes Mark // how often Add and Revoke changed it
}

// Mark is a moment in the life of a Tokens.
type Mark uint64

// NewTokens knows no token yet; see Set.
func NewTokens() *Tokens {
	t := &Tokens{}
	t.list.Store(&map[string]*tokenEntry{})
	return t
}

// tokenEntry is one token.
type tokenEntry struct {
	hash    []byte // nil of one that was revoked before it was known
	who     Identity
	changed Mark // when Add or Revoke brought it in; guarded by Tokens.mu
	ended   chan struct{}
	end     func() // closes ended; more than once is fine
	timer   *time.Timer
	revoked atomic.Bool
	used    atomic.Int64 // the latest use, in µs
	told    atomic.Int64 // the latest use that Used has told
}

// Mark is this moment. Take it before reading the list for Set.
func (t *Tokens) Mark() Mark {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changes
}

// Set takes over all tokens as the ledger had them at some time after the mark. Those that were revoked, or are gone, end at once. What Add
// and Revoke have brought since the mark stays: the list may have been read before.
func (t *Tokens) Set(list []ledger.Token, read Mark) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := *t.list.Load()
	now := make(map[string]*tokenEntry, len(list))
	for i := range list {
		h := before[list[i].ID]
		if h == nil || h.hash == nil {
			revoked := h != nil
			h = hold(&list[i])
			if revoked {
				h.revoke()
			}
		}
		if !list[i].Revoked.IsZero() {
			h.revoke()
		}
		now[list[i].ID] = h
	}
	for id, h := range before {
		if now[id] == nil && h.changed > read {
			now[id] = h
		}
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
	if (*t.list.Load())[token.ID] != nil {
		return
	}
	t.add(hold(&token))
}

// add brings in a token that is not there. The caller holds the lock.
func (t *Tokens) add(h *tokenEntry) {
	t.changes++
	h.changed = t.changes
	now := maps.Clone(*t.list.Load())
	now[h.who.Token] = h
	t.list.Store(&now)
}

// Revoke ends a token at once, also one that another node has just made and that is not known here yet.
func (t *Tokens) Revoke(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := (*t.list.Load())[id]
	if h == nil {
		h = hold(&ledger.Token{ID: id})
		t.add(h)
	}
	h.revoke()
}

// Close ends the timers of all tokens, and no token.
func (t *Tokens) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range *t.list.Load() {
		h.stop()
	}
}

func hold(token *ledger.Token) *tokenEntry {
	h := &tokenEntry{hash: token.Hash, ended: make(chan struct{})}
	h.end = sync.OnceFunc(func() { close(h.ended) })
	h.who = Identity{
		Subject: token.Subject, Subscribers: token.Subscribers, Warehouses: token.Warehouses,
		Token: token.ID, Via: ledger.ViaToken(token.ID), Expires: token.Expires, Ended: h.ended,
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

func (h *tokenEntry) revoke() {
	h.revoked.Store(true)
	h.stop()
	h.end()
}

func (h *tokenEntry) stop() {
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
