package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"tallyman/internal/testenv"
)

// call is an attempt of a push channel as the receiver of a webhook saw it.
type call struct {
	heard

	Type  string `json:"type"`
	at    time.Time
	body  string
	taken bool // the receiver has it, whether it could say so or not
}

// receiver is the server of a webhook. It takes, fails, resets, hangs and loses answers as it pleases, until calm: faults is how
// many of a hundred calls go wrong.
type receiver struct {
	*testenv.HTTPServer

	t      *testing.T
	faults int
	mu     sync.Mutex
	random *rand.Rand
	calls  []call
	failed int
}

// calmReceiver is one that takes everything.
func calmReceiver(t *testing.T) *receiver {
	t.Helper()
	r := newReceiver(t, 1, 1)
	r.calm()
	return r
}

// webhook is the line of the configuration for a sink that calls the receiver.
func webhook(name string, r *receiver) string {
	return fmt.Sprintf("  %s: {type: webhook, url: %q, allow_private: true}\n", name, r.URL)
}

func newReceiver(t *testing.T, seed uint64, faults int) *receiver {
	t.Helper()
	r := &receiver{HTTPServer: testenv.NewHTTPServer(t), t: t, faults: faults, random: rand.New(rand.NewPCG(seed, seed))}
	r.Always(r.moody)
	return r
}

// calm takes everything from now on.
func (r *receiver) calm() {
	r.Always(func(w http.ResponseWriter, asked testenv.HTTPRequest, gone <-chan struct{}) {
		r.note(asked, true)
		testenv.ReplyStatus(http.StatusNoContent, "")(w, asked, gone)
	})
}

func (r *receiver) moody(w http.ResponseWriter, asked testenv.HTTPRequest, gone <-chan struct{}) {
	r.mu.Lock()
	mood := r.random.IntN(3000) / r.faults // below 30: a fault
	r.mu.Unlock()
	reply, taken := testenv.ReplyStatus(http.StatusNoContent, ""), true
	switch {
	case mood < 10:
		reply = testenv.ReplyReset // after it was taken
	case mood < 15:
		reply, taken = testenv.ReplyReset, false
	case mood < 26:
		reply, taken = testenv.ReplyStatus(http.StatusInternalServerError, "out of order"), false
	case mood < 28:
		reply, taken = testenv.ReplyStatus(http.StatusTooManyRequests, "", "Retry-After", "1"), false
	case mood < 30:
		reply, taken = testenv.ReplyHang, false
	}
	r.note(asked, taken)
	reply(w, asked, gone)
}

func (r *receiver) note(asked testenv.HTTPRequest, taken bool) {
	c := call{at: asked.At, body: string(asked.Body), taken: taken}
	if err := json.Unmarshal(asked.Body, &c); err != nil {
		r.t.Errorf("a call that is no notice: %q", asked.Body)
	}
	if key := asked.Header.Get("Idempotency-Key"); key != c.ID || key == "" {
		r.t.Errorf("notice %s came under the key %q", c.ID, key)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
	if !taken {
		r.failed++
	}
}

// seen returns the calls by now, and how many of them failed.
func (r *receiver) seen() (calls []call, failed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls), r.failed
}

// repeats counts the calls with what had been taken before.
func repeats(calls []call) int {
	n, taken := 0, map[string]bool{}
	for _, c := range calls {
		if taken[c.ID] {
			n++
		}
		taken[c.ID] = taken[c.ID] || c.taken
	}
	return n
}
