package auth

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"tallyman/internal/ledger"
)

// Spec is what an API token is to be.
type Spec struct {
	Name        string // the subject where empty
	Subject     string
	Access      []Role
	Subscribers []string // of a client, besides the subject
	Warehouses  []string
	Expires     time.Time // zero = never
}

// Fault is something that a Spec may not say.
type Fault struct{ Field, Message string }

// The bounds of a token.
const (
	maxTokenName   = 100 // bytes
	maxSubscribers = 100
	maxWarehouses  = 1000
)

var (
	subjectPattern    = regexp.MustCompile(`^(user|service):[A-Za-z0-9][A-Za-z0-9_.@-]{0,127}$`)
	subscriberPattern = regexp.MustCompile(`^(user|role):[A-Za-z0-9][A-Za-z0-9_.@-]{0,127}$`)
	warehousePattern  = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_.-]{0,63}|\*)$`)
)

// NewToken makes a token as the ledger keeps it, and its secret, which is kept nowhere. It returns everything that is wrong with the spec
// instead.
func NewToken(s Spec, by string, now time.Time) (ledger.Token, string, []Fault) {
	s.complete()
	if faults := s.check(now); len(faults) > 0 {
		return ledger.Token{}, "", faults
	}
	secret := NewSecret()
	hash := HashSecret(secret)
	t := ledger.Token{
		ID: tokenID(hash), Hash: hash, Name: s.Name, Subject: s.Subject, Subscribers: s.Subscribers, Warehouses: s.Warehouses,
		Created: now.UTC().Truncate(time.Microsecond), CreatedBy: by,
	}
	if !s.Expires.IsZero() {
		t.Expires = s.Expires.UTC().Truncate(time.Microsecond)
	}
	for _, role := range s.Access {
		t.Access = append(t.Access, string(role))
	}
	return t, secret, nil
}

// complete says what goes without saying.
func (s *Spec) complete() {
	if s.Name == "" {
		s.Name = s.Subject
	}
	s.Access = unique(s.Access)
	client := slices.Contains(s.Access, Client)
	if client && strings.HasPrefix(s.Subject, "user:") {
		s.Subscribers = append(slices.Clone(s.Subscribers), s.Subject)
	}
	s.Subscribers, s.Warehouses = unique(s.Subscribers), unique(s.Warehouses)
	if len(s.Warehouses) == 0 && !s.inWarehouses() {
		s.Warehouses = []string{AllWarehouses}
	}
}

// inWarehouses tells whether the token is one for people and systems of certain warehouses, which have to be named.
func (s *Spec) inWarehouses() bool {
	return slices.ContainsFunc(s.Access, func(r Role) bool { return r == Client || r == Service || r == Producer })
}

func (s *Spec) check(now time.Time) []Fault {
	var faults []Fault
	fail := func(field, format string, args ...any) {
		faults = append(faults, Fault{field, fmt.Sprintf(format, args...)})
	}
	if len(s.Name) > maxTokenName || strings.ContainsFunc(s.Name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }) {
		fail("name", "at most %d bytes of text", maxTokenName)
	}
	if !subjectPattern.MatchString(s.Subject) {
		fail("subject", "%q is neither user:<id> nor service:<id>", s.Subject)
	}
	if len(s.Access) == 0 {
		fail("access", "name one at least of %s", roleNames())
	}
	for _, role := range s.Access {
		if !slices.Contains(Roles(), role) {
			fail("access", "%q is none of %s", role, roleNames())
		}
	}
	s.checkSubscribers(fail)
	for _, w := range s.Warehouses {
		if !warehousePattern.MatchString(w) {
			fail("warehouses", "%q is neither the name of a warehouse nor *", w)
		}
	}
	switch {
	case len(s.Warehouses) == 0:
		fail("warehouses", "name the warehouses of a client, service or producer, or * for all")
	case len(s.Warehouses) > maxWarehouses:
		fail("warehouses", "more than %d", maxWarehouses)
	}
	if !s.Expires.IsZero() && !s.Expires.After(now) {
		fail("expires", "%s is over", s.Expires.UTC().Format(time.RFC3339))
	}
	return faults
}

func (s *Spec) checkSubscribers(fail func(field, format string, args ...any)) {
	client, users := slices.Contains(s.Access, Client), 0
	for _, one := range s.Subscribers {
		switch {
		case !subscriberPattern.MatchString(one):
			fail("subscribers", "%q is neither user:<id> nor role:<id>", one)
		case strings.HasPrefix(one, "user:"):
			users++
		}
	}
	switch {
	case !client && len(s.Subscribers) > 0:
		fail("subscribers", "only a client has inboxes of its own; a service reads for any subscriber of its warehouses")
	case client && len(s.Subscribers) == 0:
		fail("subscribers", "name the user or the roles whose notices the client gets")
	case users > 1:
		fail("subscribers", "a client is one user")
	case len(s.Subscribers) > maxSubscribers:
		fail("subscribers", "more than %d", maxSubscribers)
	}
}

func roleNames() string {
	var names []string
	for _, r := range Roles() {
		names = append(names, string(r))
	}
	return strings.Join(names, ", ")
}

// unique is the list in order, each once; nil where it is empty.
func unique[T ~string](list []T) []T {
	list = slices.Clone(list)
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) == 0 {
		return nil
	}
	return list
}
