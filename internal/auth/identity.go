package auth

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"tallyman/internal/ledger"
)

// Role says what a caller may do. It is not the role of a subscriber (role:keeper), which says what people are told.
type Role string

// The roles. What each of them may do stands in internal/api/access.go.
const (
	Client   Role = "client"   // polls the inboxes of its own user and roles
	Service  Role = "service"  // polls and sends for subscribers, as an application server does
	Producer Role = "producer" // pushes items and sends notices
	Worker   Role = "worker"   // leases items and works on them
	Viewer   Role = "viewer"   // looks at everything but inboxes
	Operator Role = "operator" // changes what runs
	Admin    Role = "admin"    // changes who may do what
)

// Roles are all of them.
func Roles() []Role { return []Role{Client, Service, Producer, Worker, Viewer, Operator, Admin} }

// AllWarehouses in a list of warehouses stands for every one.
const AllWarehouses = "*"

// Identity is who a request comes from. The zero value may do nothing.
type Identity struct {
	Subject     string          // who, as logs and traces name it: user:ann, service:wms
	Access      []Role          // what it may do
	Subscribers []string        // whose inboxes are its own: user:ann, role:keeper
	Warehouses  []string        // where; AllWarehouses = everywhere
	Token       string          // id of the API token; "" of a JWT and in mode none
	Via         ledger.Via      // how it was authenticated, for the records of what it changes
	Expires     time.Time       // zero = never
	Ended       <-chan struct{} // closed when it was revoked or has expired; nil = never
}

// Author is the identity as the author of a change.
func (id *Identity) Author() ledger.Author { return ledger.Author{By: id.Subject, Via: id.Via} }

// Has tells whether the identity has one of the roles.
func (id *Identity) Has(roles ...Role) bool {
	return slices.ContainsFunc(roles, func(r Role) bool { return slices.Contains(id.Access, r) })
}

// InWarehouse tells whether the identity may do things in the warehouse.
func (id *Identity) InWarehouse(warehouse string) bool {
	return slices.Contains(id.Warehouses, warehouse) || id.Everywhere()
}

// Everywhere tells whether the identity may do things in every warehouse.
func (id *Identity) Everywhere() bool { return slices.Contains(id.Warehouses, AllWarehouses) }

// ForOthers tells whether the identity may read and mark for subscribers that are not its own.
func (id *Identity) ForOthers() bool { return id.Has(Service, Admin) }

// User is the user that the identity is, user:<id>; "" where it is none.
func (id *Identity) User() string {
	i := slices.IndexFunc(id.Subscribers, func(s string) bool { return strings.HasPrefix(s, "user:") })
	if i < 0 {
		return ""
	}
	return id.Subscribers[i]
}

// Over tells whether the identity was revoked or has expired since it was authenticated.
func (id *Identity) Over() bool {
	select {
	case <-id.Ended:
		return true
	default:
		return false
	}
}

// Why tells what ended the identity: ErrExpired or ErrRevoked.
func (id *Identity) Why() error {
	if !id.Expires.IsZero() && !time.Now().Before(id.Expires) {
		return ErrExpired
	}
	return ErrRevoked
}

// Authenticator tells the identity of a request or refuses it. An error is one of this package's.
type Authenticator interface {
	Authenticate(r *http.Request) (Identity, error)
}

// identityKey is the context's key of the identity.
type identityKey struct{}

// With puts the identity into the context of a request.
func With(ctx context.Context, id *Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, id)
}

// From is the identity that the request was authenticated with; one that may do nothing where it was not.
func From(ctx context.Context) *Identity {
	if id, ok := ctx.Value(identityKey{}).(*Identity); ok {
		return id
	}
	return &Identity{}
}

// Why a request is refused. What is wrapped around them may be shown to whoever asked: it repeats nothing of a token.
var (
	ErrNoToken  = errors.New("a bearer token is needed")
	ErrBadToken = errors.New("the token is not valid")
	ErrExpired  = errors.New("the token has expired")
	ErrRevoked  = errors.New("the token was revoked")
	// ErrNoKeys says that the keys that JWTs are checked with are out of reach.
	ErrNoKeys = errors.New("the keys that JWTs are checked with are out of reach")
)
