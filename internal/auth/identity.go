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

// Role says what a caller may do. It is not the role of a subscriber (role:keeper), which decides about notices.
type Role string

// The roles. The table in internal/api/access.go says which operations each role allows.
const (
	Client   Role = "client"   // polls the inboxes of its own user and roles
	Service  Role = "service"  // polls and sends for subscribers, as an application server does
	Producer Role = "producer" // pushes items and sends notices
	Worker   Role = "worker"   // leases items and works on them
	Viewer   Role = "viewer"   // looks at everything but inboxes
	Operator Role = "operator" // changes what runs
	Admin    Role = "admin"    // changes who may do what
)

// Roles returns all roles.
func Roles() []Role { return []Role{Client, Service, Producer, Worker, Viewer, Operator, Admin} }

// AllWarehouses in a list of warehouses stands for all warehouses.
const AllWarehouses = "*"

// Identity is the caller of a request. The zero value may do nothing.
type Identity struct {
	Subject     string          // Name of the caller in logs, traces and the audit: user:ann, service:wms.
	Access      []Role          // The caller's roles.
	Subscribers []string        // The subscribers whose inboxes are the caller's own: user:ann, role:keeper.
	Warehouses  []string        // The warehouses that the caller may see and change; AllWarehouses = all.
	Token       string          // Id of the API token; "" for a JWT and in mode none.
	Via         ledger.Via      // How the caller was authenticated, for the audit.
	Expires     time.Time       // Zero = never.
	Ended       <-chan struct{} // Closed when the token is revoked or expires; nil = never.
}

// Author returns the identity as the author of a change.
func (id *Identity) Author() ledger.Author { return ledger.Author{By: id.Subject, Via: id.Via} }

// Has tells whether the identity has one of the roles.
func (id *Identity) Has(roles ...Role) bool {
	return slices.ContainsFunc(roles, func(r Role) bool { return slices.Contains(id.Access, r) })
}

// InWarehouse tells whether the identity may see and change the warehouse.
func (id *Identity) InWarehouse(warehouse string) bool {
	return slices.Contains(id.Warehouses, warehouse) || id.Everywhere()
}

// Everywhere tells whether the identity may see and change all warehouses.
func (id *Identity) Everywhere() bool { return slices.Contains(id.Warehouses, AllWarehouses) }

// ForOthers tells whether the identity may read and mark notices for subscribers other than its own.
func (id *Identity) ForOthers() bool { return id.Has(Service, Admin) }

// User returns the identity's user, user:<id>, or "" where the identity is not a user.
func (id *Identity) User() string {
	i := slices.IndexFunc(id.Subscribers, func(s string) bool { return strings.HasPrefix(s, "user:") })
	if i < 0 {
		return ""
	}
	return id.Subscribers[i]
}

// Over tells whether the token was revoked or has expired since the request was authenticated.
func (id *Identity) Over() bool {
	select {
	case <-id.Ended:
		return true
	default:
		return false
	}
}

// Why returns the reason why the identity ended: ErrExpired or ErrRevoked. Call it only after Ended has closed.
func (id *Identity) Why() error {
	if !id.Expires.IsZero() && !time.Now().Before(id.Expires) {
		return ErrExpired
	}
	return ErrRevoked
}

// Authenticator finds the identity of a request, or refuses the request with one of this package's errors.
type Authenticator interface {
	Authenticate(r *http.Request) (Identity, error)
}

// identityKey is the key of the identity in a context.
type identityKey struct{}

// With returns a context with the identity.
func With(ctx context.Context, id *Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, id)
}

// From returns the identity in the context. Without one it returns an identity that may do nothing.
func From(ctx context.Context) *Identity {
	if id, ok := ctx.Value(identityKey{}).(*Identity); ok {
		return id
	}
	return &Identity{}
}

// Reasons to refuse a request. An error that wraps one of them may be shown to the caller: its text repeats no part of
// the token.
var (
	ErrNoToken  = errors.New("a bearer token is needed")
	ErrBadToken = errors.New("the token is not valid")
	ErrExpired  = errors.New("the token has expired")
	ErrRevoked  = errors.New("the token was revoked")
	// ErrNoKeys says that the identity provider did not answer, so that the key of a JWT is unknown.
	ErrNoKeys = errors.New("the keys for checking JWTs cannot be fetched")
)
