package webhook_test

import (
	"net/http"
	"slices"
	"sync"

	"tallyman/internal/testenv"
)

// keys are the Idempotency-Keys of what a server has taken, in the order of coming.
type keys struct {
	mu   sync.Mutex
	seen []string
}

// with takes what comes, and then replies so.
func (k *keys) with(then testenv.HTTPReply) testenv.HTTPReply {
	return func(w http.ResponseWriter, r testenv.HTTPRequest, gone <-chan struct{}) {
		k.mu.Lock()
		k.seen = append(k.seen, r.Header.Get("Idempotency-Key"))
		k.mu.Unlock()
		then(w, r, gone)
	}
}

func (k *keys) list() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.seen)
}
