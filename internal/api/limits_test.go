package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tallyman/internal/api"
	"tallyman/internal/auth"
)

// tokens is an Authenticator for tests: "token ID" and "user NAME" are good, everything else is wrong.
type tokens struct {
	asked atomic.Int64
	late  string // a credential that has become good
}

func (a *tokens) Authenticate(r *http.Request) (auth.Identity, error) {
	a.asked.Add(1)
	kind, name, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	id := auth.Identity{Subject: "service:wms", Access: auth.Roles(), Warehouses: []string{auth.AllWarehouses}}
	switch kind {
	case "token":
		id.Token = name
	case "user":
		id.Subject = name
	case "":
		return auth.Identity{}, auth.ErrNoToken
	default:
		if a.late == "" || kind+" "+name != a.late {
			return auth.Identity{}, fmt.Errorf("%w: %s", auth.ErrBadToken, name)
		}
		id.Token = name
	}
	return id, nil
}

// caller polls from an address with a credential and gives the answer.
type caller func(address, credential string) answer

// limitedBy is an API whose callers are limited, and the Authenticator behind it. With nil, it is in mode none.
func limitedBy(t *testing.T, rate api.Rate, behind auth.Authenticator) (caller, *bundle) {
	t.Helper()
	b := newBundle(func(d *parts) {
		d.HTTP.Rate, d.Auth = rate, behind
		if behind == nil {
			d.Auth = auth.None{}
		}
	})
	return func(address, credential string) answer {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, pollPath, http.NoBody)
		r.Host, r.RemoteAddr = "localhost", address
		if credential != "" {
			r.Header.Set("Authorization", credential)
		}
		rec := httptest.NewRecorder()
		b.api.ServeHTTP(rec, r)
		return answer{rec.Code, rec.Header(), rec.Body.String()}
	}, b
}

const here, there = "192.0.2.1:4711", "192.0.2.2:4711"

func pass(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // in a bubble

// TestRateOfTokens proves that each token, and each subject that has none, has its own rate, wherever it calls from.
func TestRateOfTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		poll, b := limitedBy(t, api.Rate{Requests: 0.5, Burst: 3}, &tokens{})
		for range 3 {
			if got := poll(here, "token a"); got.status != http.StatusOK {
				t.Errorf("within the burst: %d", got.status)
			}
		}
		for range 5 {
			got := poll(there, "token a")
			if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "2" || !strings.Contains(got.body, `"code":"too_many_requests"`) {
				t.Errorf("above it: %d, Retry-After %q: %s", got.status, got.header.Get("Retry-After"), got.body)
			}
		}
		for _, other := range []string{"token b", "user ann", "user bob"} {
			if got := poll(here, other); got.status != http.StatusOK {
				t.Errorf("%s: %d", other, got.status)
			}
		}
		if n := strings.Count(b.log.String(), "sends too many requests"); n != 1 || !strings.Contains(b.log.String(), `caller="token a"`) {
			t.Errorf("told %d times", n)
		}
		pass(2 * time.Second)
		if first, second := poll(here, "token a"), poll(here, "token a"); first.status != http.StatusOK || second.status != http.StatusTooManyRequests {
			t.Errorf("after Retry-After: %d, %d", first.status, second.status)
		}
		pass(time.Hour)
		for range 3 {
			if got := poll(here, "token a"); got.status != http.StatusOK {
				t.Errorf("after a rest: %d", got.status)
			}
		}
	})
}

// TestRateInModeNone proves that there is no limit unless one is asked for, and that it is by address.
func TestRateInModeNone(t *testing.T) {
	t.Parallel()
	poll, _ := limitedBy(t, api.Rate{Failures: 1, Tries: 1}, nil)
	for range 100 {
		if got := poll(here, ""); got.status != http.StatusOK {
			t.Fatalf("without a limit: %d", got.status)
		}
	}
	poll, _ = limitedBy(t, api.Rate{Requests: 0.001, Burst: 1}, nil)
	if a, b, c := poll(here, ""), poll(here, ""), poll(there, ""); a.status != 200 || b.status != 429 || c.status != 200 {
		t.Errorf("%d, %d, %d", a.status, b.status, c.status)
	}
}

// TestWrongCredentials proves that an address can try only a limited number of credentials, that a caller with a good
// credential is not affected, and that a credential that stays wrong only uses up its own attempts.
func TestWrongCredentials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		behind := &tokens{}
		poll, b := limitedBy(t, api.Rate{Failures: 0.1, Tries: 3}, behind)
		status := func(address, credential string, want int) {
			t.Helper()
			if got := poll(address, credential); got.status != want {
				t.Errorf("%s from %s: %d, not %d", credential, address, got.status, want)
			}
		}
		const refused, busy = http.StatusUnauthorized, http.StatusTooManyRequests
		status(here, "token old", 200)
		for range 3 {
			status(here, "wrong 1", refused) // a client whose token was revoked
		}
		before := behind.asked.Load()
		for range 20 {
			status(here, "wrong 1", busy)
		}
		if n := behind.asked.Load() - before; n != 0 {
			t.Errorf("a credential that was wrong before was looked at %d times", n)
		}
		status(here, "wrong 2", refused)
		status(here, "wrong 3", refused)
		for range 20 {
			status(here, "wrong 4", busy)
		}
		status(here, "", busy)
		status(there, "wrong 4", refused)
		for _, good := range []string{"token old", "token new", "user ann"} { // a proxy's address is that of many
			status(here, good, 200)
		}
		if n := strings.Count(b.log.String(), "sends too many requests"); n != 2 {
			t.Errorf("told %d times", n)
		}
		pass(10 * time.Second)
		status(here, "wrong 5", refused)
		status(here, "wrong 6", busy)
		behind.late = "wrong 5" // a token that this node had not heard of yet
		for range 20 {
			status(here, "wrong 5", 200)
		}
	})
}

// TestRateWithoutToken proves that requests without a token are limited by address, and do not use up the limit of
// callers with a token.
func TestRateWithoutToken(t *testing.T) {
	t.Parallel()
	poll, b := limitedBy(t, api.Rate{Requests: 0.001, Burst: 2}, &tokens{})
	for i, want := range []int{200, 200, 429} {
		if got := b.handle(t, "/healthz"); got.status != want {
			t.Errorf("%d: %d", i, got.status)
		}
	}
	if got := poll(here, "token a"); got.status != http.StatusOK {
		t.Errorf("with a token: %d", got.status)
	}
}

// TestNetworksOfIPv6 proves that a caller with a whole network has no more attempts than others.
func TestNetworksOfIPv6(t *testing.T) {
	t.Parallel()
	poll, _ := limitedBy(t, api.Rate{Failures: 0.001, Tries: 1}, &tokens{})
	if got := poll("[2001:db8::1]:1", "wrong 1"); got.status == 429 {
		t.Errorf("the first: %d", got.status)
	}
	if got := poll("[2001:db8::ffff:2]:1", "wrong 2"); got.status != 429 {
		t.Errorf("the same network: %d", got.status)
	}
	if got := poll("[2001:db8:0:1::1]:1", "wrong 3"); got.status == 429 {
		t.Errorf("another network: %d", got.status)
	}
	if got := poll("192.0.2.1:1", "wrong 4"); got.status == 429 {
		t.Errorf("an address of IPv4: %d", got.status)
	}
	if got := poll("[::ffff:192.0.2.1]:1", "wrong 5"); got.status != 429 {
		t.Errorf("the same, written in IPv6: %d", got.status)
	}
}

// TestALongPollCountsOnce proves that a poll that waits is one request, however long it does.
func TestALongPollCountsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, b := limitedBy(t, api.Rate{Requests: 0.001, Burst: 2}, nil)
		if got := b.handle(t, pollPath+"&wait=60s"); got.status != http.StatusOK {
			t.Errorf("the poll that waits: %d", got.status)
		}
		if a, b := b.handle(t, pollPath), b.handle(t, pollPath); a.status != 200 || b.status != 429 {
			t.Errorf("those after it: %d, %d", a.status, b.status)
		}
	})
}

// TestAging proves that the map never exceeds its bound, never has an entry that was not put, and keeps used entries
// while there is room.
func TestAging(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const life = 10
		most := rapid.IntRange(1, 8).Draw(t, "most")
		a := api.NewAging(most, life*time.Second)
		now := time.Unix(0, 0)
		values, used := map[int]int{}, map[int]int{}
		others := map[int]map[int]bool{} // keys put or asked for since a key was used
		touch := func(k int) {
			for _, seen := range others {
				seen[k] = true
			}
			others[k] = map[int]bool{}
			used[k] = int(now.Unix())
		}
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, life/2).Draw(t, "later")) * time.Second)
			k := rapid.IntRange(0, 12).Draw(t, "key")
			v, ok := a.Get(now, k)
			if want, was := values[k]; ok && (!was || v != want) {
				t.Fatalf("%d is %d, not %d", k, v, want)
			} else if was && !ok && int(now.Unix())-used[k] < life && len(others[k]) < most {
				t.Fatalf("%d was forgotten after %d s and %d others", k, int(now.Unix())-used[k], len(others[k]))
			}
			if !ok {
				values[k] = i
				a.Put(now, k, i)
			}
			touch(k)
			if a.Len() > 2*most {
				t.Fatalf("%d entries of twice %d", a.Len(), most)
			}
		}
		if now = now.Add(2 * life * time.Second); true {
			if _, ok := a.Get(now, 0); ok || a.Len() != 0 {
				t.Fatalf("%d entries after a rest", a.Len())
			}
		}
	})
}
