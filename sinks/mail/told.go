package mail

import (
	netmail "net/mail"
	"slices"
	"sync"
)

// maxTold bounds what is remembered; what falls out is sent again, with the same Message-ID.
const maxTold = 4096

// told remembers which addresses of a mail have it while the server puts off the others, so that the next attempt goes to
// those alone. It is a courtesy of this process: after a restart the mail goes to all of them again, with the same Message-ID.
type told struct {
	mu    sync.Mutex
	has   map[string]map[string]bool // Message-ID → addresses
	order []string                   // the ids, as they came
}

func newTold() *told { return &told{has: map[string]map[string]bool{}} }

// add remembers that these addresses have the mail.
func (t *told) add(id string, list []string) {
	if len(list) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.has[id] == nil {
		t.has[id] = map[string]bool{}
		t.order = append(t.order, id)
	}
	for _, a := range list {
		t.has[id][a] = true
	}
	for len(t.order) > maxTold {
		delete(t.has, t.order[0])
		t.order = t.order[1:]
	}
}

// forget ends the memory of a mail, and tells whether some address has it.
func (t *told) forget(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.has[id] == nil {
		return false
	}
	delete(t.has, id)
	t.order = slices.DeleteFunc(t.order, func(s string) bool { return s == id })
	return true
}

// without returns those that do not have the mail yet.
func (t *told) without(id string, list []*netmail.Address) []*netmail.Address {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []*netmail.Address
	for _, a := range list {
		if !t.has[id][a.Address] {
			out = append(out, a)
		}
	}
	return out
}
