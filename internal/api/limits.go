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

// Rate bounds how often a caller may ask. A long poll and a stream count once.
type Rate struct {
	Requests float64 // in a second, of each token, and of each address that needs none; 0 = no limit
	Burst    int     // at once, after a rest
	Failures float64 // different wrong credentials in a second, of each address; 0 = no limit
	Tries    int     // of them at once
}

// limited answers 431 to requests whose head is too large, and keeps those who ask too often out.
func (a *API) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if headSize(r) > maxHead {
			WriteProblem(w, wire.NewProblem(http.StatusRequestHeaderFieldsTooLarge, wire.CodeHeadersTooLarge,
				"the request's address and headers take more than 32 KB together"), ProblemMedia(r))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// headSize is about what the request line and the headers took.
func headSize(r *http.Request) int {
	n := len(r.RequestURI)
	for name, lines := range r.Header {
		for _, line := range lines {
			n += len(name) + len(line) + 4
		}
	}
	return n
}

// busyError says that a caller has to wait.
type busyError struct {
	caller string
	wait   time.Duration
	news   bool // it was not told lately
	detail string
}

func (e *busyError) Error() string { return e.caller + " asks too often" }

// tooBusy answers 429.
func (a *API) tooBusy(w http.ResponseWriter, r *http.Request, e *busyError) {
	if e.news {
		a.log.LogAttrs(r.Context(), slog.LevelWarn, "Caller asks too often, and gets 429 for now.", append(RequestAttrs(w, r), slog.String("caller", e.caller))...)
	}
	p := wire.NewProblem(http.StatusTooManyRequests, wire.CodeTooManyRequests, e.detail)
	p.RetryAfter = max(1, int(math.Ceil(e.wait.Seconds())))
	WriteProblem(w, p, ProblemMedia(r))
}

// What is remembered of callers: at most twice as many of each kind.
const (
	mostCallers   = 16 << 10
	callersMemory = 10 * time.Minute
)

// callers is an Authenticator that keeps those out who ask too often. It counts before and after the one that it wraps:
//
//   - Who is known counts by token, or by subject where the credential is none of ours, and in mode none by address.
//   - A credential that was wrong before is not looked at again while it comes too often.
//   - An address that has tried too many different credentials is told to wait with each wrong one. A good one is always taken: an address may be
//     a proxy's, and those behind it must not be kept out by one who makes up credentials. Nobody can guess one.
type callers struct {
	auth.Authenticator

	limit Rate
	seed  maphash.Seed

	mu        sync.Mutex
	known     *aging[string, *bucket]       // by caller
	wrong     *aging[uint64, *bucket]       // credentials, by address
	addresses *aging[netip.Prefix, *bucket] // that had wrong ones
}

func newCallers(wrapped auth.Authenticator, limit Rate) *callers {
	life := callersMemory
	if limit.Requests > 0 { // who rests for so long has its whole burst again, and may be forgotten
		life = max(life, time.Duration(float64(limit.Burst)/limit.Requests*float64(time.Second)))
	}
	return &callers{
		Authenticator: wrapped, limit: limit, seed: maphash.MakeSeed(),
		known: newAging[string, *bucket](mostCallers, life), wrong: newAging[uint64, *bucket](mostCallers, life),
		addresses: newAging[netip.Prefix, *bucket](mostCallers, life),
	}
}

// Authenticate tells the identity of a request or refuses it; the error may be a *busyError.
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

// isWrong tells whether the credential was no good, and not what has to judge it.
func isWrong(err error) bool {
	return errors.Is(err, auth.ErrNoToken) || errors.Is(err, auth.ErrBadToken) || errors.Is(err, auth.ErrExpired) || errors.Is(err, auth.ErrRevoked)
}

// try is one request that is to be authenticated.
type try struct {
	now     time.Time
	address netip.Prefix
	here    uint64 // the credential as this address has sent it
	again   bool   // it was wrong before
}

func (c *callers) try(r *http.Request) try {
	t := try{now: time.Now(), address: addressOf(r.RemoteAddr)}
	t.here = maphash.String(c.seed, t.address.String()+" "+HeaderValue(r, "Authorization"))
	return t
}

// addressOf is what one caller is likely to have: an address, of IPv6 its network.
func addressOf(remote string) netip.Prefix {
	p, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{} // a listener that is no TCP: all its callers together
	}
	addr := p.Addr().Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	prefix, _ := addr.Prefix(bits) // the bits fit
	return prefix
}

// mayTry tells whether the credential may be looked at.
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
	return c.refusal(b, t, "this credential was wrong, and comes too often")
}

// refusal takes one from the bucket; nil where there was one.
func (c *callers) refusal(b *bucket, t *try, detail string) error {
	wait := b.take(t.now)
	if wait == 0 {
		return nil
	}
	return &busyError{caller: "address " + t.address.String(), wait: wait, news: b.news(t.now), detail: detail}
}

// failed counts a wrong credential, and returns what is to be said of it: why it is wrong, or that there were too many.
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

// take counts a request of a caller who is known.
func (c *callers) take(t *try, id *auth.Identity) error {
	if t.again { // it has become good: a token that this node had not heard of yet
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
	return &busyError{caller: name, wait: wait, news: b.news(t.now), detail: "too many requests; the next may come after the seconds that Retry-After says"}
}

func bucketOf[K comparable](m *aging[K, *bucket], now time.Time, key K, perSecond float64, burst int) *bucket {
	b, ok := m.get(now, key)
	if !ok {
		b = &bucket{Limiter: rate.NewLimiter(rate.Limit(perSecond), burst)}
		m.put(now, key, b)
	}
	return b
}

// tellEvery is how often the log tells of a caller that goes on asking too often.
const tellEvery = time.Minute

// bucket is what a caller may still ask.
type bucket struct {
	*rate.Limiter

	told time.Time
}

// take returns how long the caller has to wait, 0 where it need not.
func (b *bucket) take(now time.Time) time.Duration {
	r := b.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

// news tells whether the log should hear of it.
func (b *bucket) news(now time.Time) bool {
	if now.Sub(b.told) < tellEvery {
		return false
	}
	b.told = now
	return true
}

// aging is a map that forgets what nobody has asked for in a while, and never holds more than twice most. It has two halves:
// what is asked for moves to the young one; when that is full, or old enough, it becomes the old one, and what was there before is gone.
type aging[K comparable, V any] struct {
	most   int
	life   time.Duration // an entry stays for so long after it was last asked for, at least, while there is room
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
