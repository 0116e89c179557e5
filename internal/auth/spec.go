package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/text"
	"tallyman/internal/wire"
	"tallyman/rules/strictyaml"
)

// Spec describes a new API token.
type Spec struct {
	Name        string // "" = the subject.
	Subject     string
	Access      []Role
	Subscribers []string // For a client: subscribers besides the subject.
	Warehouses  []string
	Expires     time.Time // Zero = never.
}

// Fault is an invalid field of a Spec.
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

// NewToken makes a token for the ledger, and its secret. Nobody stores the secret: the ledger has only its hash. For an
// invalid spec NewToken returns all faults.
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

// complete fills in the defaults. A client token of a user always has the user's own inbox.
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

// inWarehouses tells whether the spec must name warehouses: the token has a role of people or systems that work in
// certain warehouses.
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
		fail("access", "name at least one of %s", roleNames())
	}
	for _, role := range s.Access {
		if !slices.Contains(Roles(), role) {
			fail("access", "%q is not one of %s", role, roleNames())
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
		fail("expires", "%s is in the past", s.Expires.UTC().Format(time.RFC3339))
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

// unique returns the sorted list without duplicates, or nil for an empty list.
func unique[T ~string](list []T) []T {
	list = slices.Clone(list)
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) == 0 {
		return nil
	}
	return list
}

// TokenForm returns a token of the ledger as clients see it.
func TokenForm(t *ledger.Token, now time.Time) wire.TokenForm {
	f := wire.TokenForm{
		ID: t.ID, Name: t.Name, Subject: t.Subject, Access: t.Access, Subscribers: t.Subscribers, Warehouses: t.Warehouses, State: "live",
		Created: t.Created, CreatedBy: t.CreatedBy, Expires: wire.Moment(t.Expires), Used: wire.Moment(t.Used), Revoked: wire.Moment(t.Revoked),
		RevokedBy: t.RevokedBy,
	}
	switch {
	case !t.Revoked.IsZero():
		f.State = "revoked"
	case !t.Expires.IsZero() && !t.Expires.After(now):
		f.State = "expired"
	}
	return f
}

// TokenForms returns the live tokens. If ended is true, it returns all tokens.
func TokenForms(list []ledger.Token, ended bool, now time.Time) []wire.TokenForm {
	forms := []wire.TokenForm{}
	for i := range list {
		if form := TokenForm(&list[i], now); ended || form.State == "live" {
			forms = append(forms, form)
		}
	}
	return forms
}

// RefuseRevoke returns why nobody should revoke the token without force: the caller calls with the token, or the token
// is the last token of an admin for its warehouses. list has all tokens of the ledger; caller is the id of the caller's
// token, "" = none. RefuseRevoke returns nil where the token may be revoked.
func RefuseRevoke(list []ledger.Token, id, caller string, now time.Time) *wire.Problem {
	list = slices.DeleteFunc(slices.Clone(list), func(t ledger.Token) bool { return TokenForm(&t, now).State != "live" })
	i := slices.IndexFunc(list, func(t ledger.Token) bool { return t.ID == id })
	switch {
	case i < 0:
		return nil
	case isLastAdmin(list, &list[i]):
		return wire.NewProblem(http.StatusConflict, wire.CodeTokenLastAdmin,
			fmt.Sprintf("%s of %s is the last token of an admin for its warehouses; no other token can create tokens there", id, list[i].Subject))
	case id == caller:
		return wire.NewProblem(http.StatusConflict, wire.CodeTokenIsCallers, id+" is the token that you call with")
	}
	return nil
}

// isLastAdmin tells whether the token is of an admin, and no other admin of the list is in all its warehouses.
func isLastAdmin(live []ledger.Token, token *ledger.Token) bool {
	if !slices.Contains(token.Access, string(Admin)) {
		return false
	}
	return !slices.ContainsFunc(live, func(t ledger.Token) bool {
		other := Identity{Warehouses: t.Warehouses}
		foreign := func(w string) bool { return !other.InWarehouse(w) }
		return t.ID != token.ID && slices.Contains(t.Access, string(Admin)) && !slices.ContainsFunc(token.Warehouses, foreign)
	})
}

// NewTokenOf makes the token that the form asks for, and its secret. For an invalid form it returns the faults.
func NewTokenOf(f *wire.TokenAskForm, by string, now time.Time) (token ledger.Token, secret string, faults []wire.Fault) {
	spec, faults := tokenSpec(f, now)
	if len(faults) > 0 {
		return token, "", faults
	}
	token, secret, wrong := NewToken(spec, by, now)
	for _, w := range wrong {
		faults = append(faults, wire.Fault{Location: "body." + w.Field, Message: w.Message})
	}
	return token, secret, faults
}

// tokenSpec converts the form to a Spec. It reads the time of expiry, which the schema of the form cannot check.
func tokenSpec(f *wire.TokenAskForm, now time.Time) (Spec, []wire.Fault) {
	s := Spec{Name: f.Name, Subject: f.Subject, Subscribers: f.Subscribers, Warehouses: f.Warehouses}
	for _, role := range f.Access {
		s.Access = append(s.Access, Role(role))
	}
	if f.Expires == "" {
		return s, nil
	}
	var err error
	if s.Expires, err = time.Parse(time.RFC3339, f.Expires); err == nil {
		return s, nil
	}
	span, err := strictyaml.ParseDuration(f.Expires)
	if err != nil || span <= 0 {
		return s, []wire.Fault{{
			Location: "body.expires", Message: text.Quote(f.Expires) + " is neither a time such as 2027-01-31T00:00:00Z nor a duration such as 90d",
		}}
	}
	s.Expires = now.Add(span)
	return s, nil
}

// SecretPrefix begins every API token, so that people and secret scanners recognize a token.
const SecretPrefix = "tly_"

const (
	secretBytes = 20 // 160 random bits.
	sumBytes    = 4
	idPrefix    = "t_"
	idLength    = 12
)

// alphabet has lower-case letters and digits only: a double click selects the whole token, and a person can read it
// aloud.
var alphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// secretLength is the length of a token with its prefix.
var secretLength = len(SecretPrefix) + alphabet.EncodedLen(secretBytes+sumBytes)

// NewSecret makes the text of an API token: the prefix, random bytes, and a checksum of them.
func NewSecret() string {
	b := make([]byte, secretBytes, secretBytes+sumBytes)
	_, _ = rand.Read(b) // never fails
	return SecretPrefix + alphabet.EncodeToString(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

// whole tells whether NewSecret can have made the text, which begins with the prefix. The checksum finds a token that
// was cut or mistyped, so that the error can say so.
func whole(secret string) bool {
	if len(secret) != secretLength {
		return false
	}
	b, err := alphabet.DecodeString(strings.TrimPrefix(secret, SecretPrefix))
	return err == nil && len(b) == secretBytes+sumBytes &&
		binary.BigEndian.Uint32(b[secretBytes:]) == crc32.ChecksumIEEE(b[:secretBytes])
}

// HashSecret returns the hash of an API token that the ledger keeps. A token has 160 random bits, which nobody can try
// out, so a fast hash is as safe as a slow one.
func HashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// tokenID returns the public id of the token with the hash.
func tokenID(hash []byte) string { return idPrefix + alphabet.EncodeToString(hash)[:idLength] }
