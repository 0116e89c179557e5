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
	mu      sync.Mutex // Serializes changes. Readers load list without the lock.
	list    atomic.Pointer[map[string]*tokenEntry]
	changes Mark // Number of changes by Add and Revoke; guarded by mu.
}

// Mark is a moment in the life of a Tokens: the number of its changes so far.
type Mark uint64

// NewTokens makes a Tokens without tokens. Set brings them in.
func NewTokens() *Tokens {
	t := &Tokens{}
	t.list.Store(&map[string]*tokenEntry{})
	return t
}

// tokenEntry is one token.
type tokenEntry struct {
	hash     []byte // nil where Revoke came before the token was known.
	who      Identity
	changed  Mark // The change by which Add or Revoke brought in the entry; guarded by Tokens.mu.
	ended    chan struct{}
	end      func() // Closes ended; may be called more than once.
	timer    *time.Timer
	revoked  atomic.Bool
	used     atomic.Int64 // Time of the latest use, in µs.
	reported atomic.Int64 // Time of the latest use that Used has returned, in µs.
}

// Mark returns the present moment. Take the mark before you read the list for Set.
func (t *Tokens) Mark() Mark {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changes
}

// Set replaces the tokens by the list that was read from the ledger after the mark was taken. Tokens that are revoked,
// or that are missing from the list, end at once. Changes by Add and Revoke since the mark stay, because the ledger may
// have been read before these changes.
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

// Add adds a token that was just created.
func (t *Tokens) Add(token ledger.Token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if (*t.list.Load())[token.ID] != nil {
		return
	}
	t.add(hold(&token))
}

// add adds an entry whose token has none yet. The caller holds the lock.
func (t *Tokens) add(h *tokenEntry) {
	t.changes++
	h.changed = t.changes
	now := maps.Clone(*t.list.Load())
	now[h.who.Token] = h
	t.list.Store(&now)
}

// Revoke ends a token at once. The token may be unknown here, because another node has just created it.
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

// Close stops the timers of all tokens. It ends no token.
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
	h.reported.Store(token.Used.UnixMicro())
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

// identify finds the token with the secret. The key of the lookup is a part of the secret's hash, which an attacker
// cannot choose. Then identify compares the whole hash in constant time.
func (t *Tokens) identify(secret string, now time.Time) (Identity, error) {
	if !whole(secret) {
		return Identity{}, fmt.Errorf("%w: it was cut or mistyped", ErrBadToken)
	}
	hash := HashSecret(secret)
	h := (*t.list.Load())[tokenID(hash)]
	switch {
	case h == nil || subtle.ConstantTimeCompare(h.hash, hash) != 1:
		return Identity{}, fmt.Errorf("%w: no such token exists", ErrBadToken)
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

// Used returns the time of the last use of each token that was used since the previous call.
func (t *Tokens) Used() map[string]time.Time {
	out := map[string]time.Time{}
	for id, h := range *t.list.Load() {
		if used := h.used.Load(); used > h.reported.Load() {
			h.reported.Store(used)
			out[id] = time.UnixMicro(used).UTC()
		}
	}
	return out
}
