package api

import (
	"errors"
	"hash/maphash"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"tallyman/internal/auth"
	"tallyman/internal/wire"
)

// Rate limits the requests of a caller. A long poll or a stream counts as one request.
type Rate struct {
	Requests float64 // Requests per second for each token, and for each address where no token is needed; 0 = no limit.
	Burst    int     // Requests at once after a rest.
	Failures float64 // Different wrong credentials per second for each address; 0 = no limit.
	Tries    int     // Different wrong credentials at once.
}

// limited answers 431 to a request whose head is too large.
func (a *API) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if headSize(r) > maxHead {
			WriteProblem(w, wire.NewProblem(http.StatusRequestHeaderFieldsTooLarge, wire.CodeHeadersTooLarge,
				"the request line and the headers have more than 32 KB together"), ProblemMedia(r))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// headSize returns the approximate size of the request line and the headers, in bytes.
func headSize(r *http.Request) int {
	n := len(r.RequestURI)
	for name, lines := range r.Header {
		for _, line := range lines {
			n += len(name) + len(line) + 4
		}
	}
	return n
}

// busyError says that a caller must wait.
type busyError struct {
	caller string
	wait   time.Duration
	news   bool // The log has no recent line about this caller.
	detail string
}

func (e *busyError) Error() string { return e.caller + " sends too many requests" }

// tooBusy answers 429.
func (a *API) tooBusy(w http.ResponseWriter, r *http.Request, e *busyError) {
	if e.news {
		a.log.LogAttrs(r.Context(), slog.LevelWarn, "Caller sends too many requests. The node answers 429 for now.", append(RequestAttrs(w, r), slog.String("caller", e.caller))...)
	}
	p := wire.NewProblem(http.StatusTooManyRequests, wire.CodeTooManyRequests, e.detail)
	p.RetryAfter = max(1, int(math.Ceil(e.wait.Seconds())))
	WriteProblem(w, p, ProblemMedia(r))
}

// The bounds of the memory about callers. Each map has at most twice mostCallers entries.
const (
	mostCallers   = 16 << 10
	callersMemory = 10 * time.Minute
)

// callers is an Authenticator that limits the rate of requests. callers counts before and after the wrapped
// Authenticator checks a credential:
//
//   - An authenticated caller counts by its API token, with a JWT by its subject, and in mode none by its address.
//   - A credential that was wrong before is not checked again while it comes too often.
//   - An address that has tried too many different credentials gets a 429 for each further wrong credential. A good
//     credential is always accepted, because the address may belong to a proxy. One attacker must not lock out the
//     other callers behind the proxy. A limit on guessing is not needed, because nobody can guess a token.
type callers struct {
	auth.Authenticator

	limit Rate
	seed  maphash.Seed

	mu        sync.Mutex
	known     *aging[string, *bucket]       // Authenticated callers, by name.
	wrong     *aging[uint64, *bucket]       // Wrong credentials, by a hash of address and credential.
	addresses *aging[netip.Prefix, *bucket] // Addresses that sent wrong credentials.
}

func newCallers(wrapped auth.Authenticator, limit Rate) *callers {
	life := callersMemory
	if limit.Requests > 0 { // After this rest a caller has its full burst again, so its entry can go.
		life = max(life, time.Duration(float64(limit.Burst)/limit.Requests*float64(time.Second)))
	}
	return &callers{
		Authenticator: wrapped, limit: limit, seed: maphash.MakeSeed(),
		known: newAging[string, *bucket](mostCallers, life), wrong: newAging[uint64, *bucket](mostCallers, life),
		addresses: newAging[netip.Prefix, *bucket](mostCallers, life),
	}
}

// Authenticate implements auth.Authenticator. The error can also be a *busyError.
func (c *callers) Authenticate(r *http.Request) (auth.Identity, error) {
	t := c.try(r)
	if err := c.mayTry(&t); err != nil {
		return auth.Identity{}, err
	}
	id, err := c.Authenticator.Authenticate(r)
	switch {
	case err == nil:
		return id, c.take(&t, &id)
	case isWrong(err):
		err = c.failed(&t, err)
	}
	return auth.Identity{}, err
}

// isWrong tells whether err says that the credential is missing or wrong. No other error counts against the caller.
func isWrong(err error) bool {
	return errors.Is(err, auth.ErrNoToken) || errors.Is(err, auth.ErrBadToken) || errors.Is(err, auth.ErrExpired) || errors.Is(err, auth.ErrRevoked)
}

// try is one attempt to authenticate.
type try struct {
	now     time.Time
	address netip.Prefix
	here    uint64 // Hash of the address and the credential.
	again   bool   // The same credential from the same address was wrong before.
}

func (c *callers) try(r *http.Request) try {
	t := try{now: time.Now(), address: addressOf(r.RemoteAddr)}
	t.here = maphash.String(c.seed, t.address.String()+" "+HeaderValue(r, "Authorization"))
	return t
}

// addressOf returns the addresses that one caller probably has: a single IPv4 address, or a /64 network of IPv6.
func addressOf(remote string) netip.Prefix {
	p, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{} // A listener that is not TCP: all its callers share one entry.
	}
	addr := p.Addr().Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	prefix, _ := addr.Prefix(bits) // Never fails: the number of bits fits the address.
	return prefix
}

// mayTry returns a *busyError if the credential was wrong before and comes too often.
func (c *callers) mayTry(t *try) error {
	if c.limit.Failures == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	b, ok := c.wrong.get(t.now, t.here)
	if t.again = ok; !ok {
		return nil
	}
	return c.refusal(b, t, "this credential was wrong before, and the client sends it too often")
}

// refusal takes a token from the bucket. refusal returns nil if the bucket had a token, and a *busyError otherwise.
func (c *callers) refusal(b *bucket, t *try, detail string) error {
	wait := b.take(t.now)
	if wait == 0 {
		return nil
	}
	return &busyError{caller: "address " + t.address.String(), wait: wait, news: b.news(t.now), detail: detail}
}

// failed counts a wrong credential. failed returns why the credential is wrong, or a *busyError if the address has sent
// too many wrong credentials.
func (c *callers) failed(t *try, why error) error {
	if c.limit.Failures == 0 || t.again {
		return why
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	address := bucketOf(c.addresses, t.now, t.address, c.limit.Failures, c.limit.Tries)
	if busy := c.refusal(address, t, "too many credentials from this address were wrong"); busy != nil {
		return busy
	}
	bucketOf(c.wrong, t.now, t.here, c.limit.Failures, c.limit.Tries).take(t.now)
	return why
}

// take counts a request of an authenticated caller.
func (c *callers) take(t *try, id *auth.Identity) error {
	if t.again { // The credential is good now: this node did not know the new token at the first attempt.
		c.mu.Lock()
		c.wrong.remove(t.here)
		c.mu.Unlock()
	}
	name := id.Subject
	switch {
	case id.Token != "":
		name = "token " + id.Token
	case id.Subject == auth.Anonymous:
		name = "address " + t.address.String()
	}
	return c.count(t, name)
}

// passing counts a request that needs no token, by address.
func (c *callers) passing(r *http.Request) error {
	t := try{now: time.Now(), address: addressOf(r.RemoteAddr)}
	return c.count(&t, "address "+t.address.String())
}

// count counts a request of a caller.
func (c *callers) count(t *try, name string) error {
	if c.limit.Requests == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	b := bucketOf(c.known, t.now, name, c.limit.Requests, c.limit.Burst)
	wait := b.take(t.now)
	if wait == 0 {
		return nil
	}
	return &busyError{caller: name, wait: wait, news: b.news(t.now), detail: "too many requests; wait for the seconds in Retry-After before the next one"}
}

func bucketOf[K comparable](m *aging[K, *bucket], now time.Time, key K, perSecond float64, burst int) *bucket {
	b, ok := m.get(now, key)
	if !ok {
		b = &bucket{Limiter: rate.NewLimiter(rate.Limit(perSecond), burst)}
		m.put(now, key, b)
	}
	return b
}

// tellEvery is the least time between two log lines about the same caller.
const tellEvery = time.Minute

// bucket is the token bucket of a caller.
type bucket struct {
	*rate.Limiter

	logged time.Time // Time of the last log line about the caller.
}

// take takes a token and returns 0. If the bucket has no token, take returns how long the caller must wait.
func (b *bucket) take(now time.Time) time.Duration {
	r := b.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

// news tells whether a log line about the caller is due now. If so, news records the time of the line.
func (b *bucket) news(now time.Time) bool {
	if now.Sub(b.logged) < tellEvery {
		return false
	}
	b.logged = now
	return true
}

// aging is a map that forgets entries that were not used for a while. The map never has more than 2*most entries.
//
// An aging has two halves. A used entry moves to the young half. When the young half is full or old enough, it becomes
// the old half, and the previous old half is dropped. So every operation takes constant time.
type aging[K comparable, V any] struct {
	most   int
	life   time.Duration // While there is room, an entry stays at least this long after its last use.
	turned time.Time
	young  map[K]V
	old    map[K]V
}

func newAging[K comparable, V any](most int, life time.Duration) *aging[K, V] {
	return &aging[K, V]{most: most, life: life, young: map[K]V{}}
}

func (a *aging[K, V]) get(now time.Time, k K) (V, bool) {
	a.turn(now)
	if v, ok := a.young[k]; ok {
		return v, true
	}
	v, ok := a.old[k]
	if ok {
		delete(a.old, k)
		a.put(now, k, v)
	}
	return v, ok
}

func (a *aging[K, V]) put(now time.Time, k K, v V) {
	if len(a.young) >= a.most {
		a.age(now)
	}
	a.young[k] = v
}

func (a *aging[K, V]) remove(k K) {
	delete(a.young, k)
	delete(a.old, k)
}

func (a *aging[K, V]) turn(now time.Time) {
	switch since := now.Sub(a.turned); {
	case since >= 2*a.life:
		a.age(now)
		a.age(now)
	case since >= a.life:
		a.age(now)
	}
}

func (a *aging[K, V]) age(now time.Time) {
	a.old, a.young, a.turned = a.young, map[K]V{}, now
}
