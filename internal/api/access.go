package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"tallyman/internal/auth"
	"tallyman/internal/wire"
)

// Groups of roles for the table Access.
var (
	everybody  = auth.Roles()
	Onlookers  = []auth.Role{auth.Viewer, auth.Operator, auth.Admin}
	Operators  = []auth.Role{auth.Operator, auth.Admin}
	admins     = []auth.Role{auth.Admin}
	pollers    = []auth.Role{auth.Client, auth.Service, auth.Viewer, auth.Operator, auth.Admin} // Viewers and operators may poll shadow inboxes only.
	readers    = []auth.Role{auth.Client, auth.Service, auth.Admin}
	senders    = []auth.Role{auth.Service, auth.Producer, auth.Operator, auth.Admin}
	subscribes = []auth.Role{auth.Service, auth.Operator, auth.Admin}
	pushers    = []auth.Role{auth.Producer, auth.Operator, auth.Admin}
	workers    = []auth.Role{auth.Worker, auth.Operator, auth.Admin}
	queuers    = []auth.Role{auth.Producer, auth.Worker, auth.Viewer, auth.Operator, auth.Admin}
)

// openAccess marks an operation that needs no token.
var openAccess = []auth.Role{}

// Access has the roles that may call each operation, by the id of the operation. The program does not start if an
// operation is missing here. Some comments name a further check that the handler makes.
var Access = map[string][]auth.Role{
	"healthz": openAccess,
	"readyz":  openAccess,
	"openapi": everybody,
	"metrics": Onlookers, // The token must be for all warehouses.
	"status":  Onlookers,
	"me":      everybody,

	"overview":         Onlookers,
	"stream-overview":  Onlookers,
	"overview-history": Onlookers,
	"list-failures":    Onlookers,

	"poll-notices":              pollers,
	"stream-notices":            pollers,
	"legacy-list-notifications": pollers,
	"legacy-post-notifications": pollers,
	"read-notice":               readers,
	"ack-notice":                readers,
	"read-all-notices":          readers,
	"summarize-notices":         pollers,
	"send-notices":              senders,
	"get-notice":                Onlookers,
	"search-notices":            Onlookers,
	"find":                      Onlookers,

	"list-types":   everybody,
	"get-type":     everybody,
	"create-type":  Operators,
	"put-type":     Operators,
	"delete-type":  Operators,
	"preview-type": everybody,

	"list-subscriptions":   {auth.Service, auth.Viewer, auth.Operator, auth.Admin},
	"create-subscription":  subscribes,
	"import-subscriptions": subscribes,
	"delete-subscription":  subscribes,

	"list-subscription-origins": Onlookers, // For these three operations the token must be for all warehouses.
	"confirm-subscriptions":     Operators,
	"release-subscriptions":     Operators,

	"list-scope-origins": Onlookers, // For these three operations the token must be for all warehouses.
	"confirm-scopes":     Operators,
	"forget-scopes":      Operators,

	"list-subscribers":  Onlookers, // For these four operations the token must be for all warehouses.
	"get-subscriber":    Onlookers,
	"put-subscriber":    Operators,
	"delete-subscriber": Operators,

	"list-queues":        queuers,
	"get-queue":          queuers,
	"get-queue-settings": queuers,
	"list-items":         queuers,
	"list-workers":       Onlookers,
	"get-item":           queuers,
	"rank-item":          queuers,
	"push-items":         pushers,
	"lease-items":        workers,
	"step":               workers, // Each operation in the step also needs the roles of its own line below.
	"ack-item":           workers,
	"nack-item":          workers,
	"release-item":       workers,
	"extend-item":        workers,
	"suspend-item":       workers, // A worker may suspend, store or assign only items that it has leased.
	"store-item":         workers,
	"assign-item":        workers,
	"finish-item":        Operators,
	"set-item":           Operators,
	"requeue-item":       Operators,
	"remove-item":        Operators,
	"remove-range":       Operators,
	"requeue-items":      Operators,
	"pause-queue":        Operators,
	"resume-queue":       Operators,
	"set-queue-settings": Operators,

	"why":             Onlookers,
	"list-rules":      Onlookers,
	"get-rule":        Onlookers,
	"get-rule-source": Onlookers, // The token must allow all scopes of the rule.
	"list-runs":       Onlookers,
	"list-findings":   Onlookers,
	"enable-rule":     Operators,
	"disable-rule":    Operators,
	"clear-rule":      Operators,
	"pause-rules":     Operators,
	"resume-rules":    Operators,
	"run-rule":        Operators,
	"reload-rules":    Operators,
	"promote-rule":    Operators,
	"preview-rule":    Operators,
	"rewind-rule":     Operators,
	"draft-rule":      Operators, // The token must be for all warehouses.

	"list-silences":  Onlookers,
	"get-silence":    Onlookers,
	"create-silence": Operators, // Create and expire: the silence must name a warehouse of the token.
	"expire-silence": Operators,

	"list-sinks":           Onlookers,
	"get-sink":             Onlookers,
	"list-deliveries":      Onlookers,
	"list-delivery-causes": Onlookers,
	"get-delivery":         Onlookers,
	"retry-delivery":       Operators,
	"retry-deliveries":     Operators,
	"cancel-delivery":      Operators,
	"cancel-deliveries":    Operators,

	"list-audit": Onlookers, // The token must be for all warehouses.

	"get-clock":     Onlookers,
	"confirm-clock": Operators, // The token must be for all warehouses.

	"get-log":       Onlookers,
	"set-log-level": Operators, // The token must be for all warehouses.

	"get-drain": Onlookers,
	"drain":     Operators, // The token must be for all warehouses.

	"list-tokens":  admins,
	"create-token": admins,
	"revoke-token": admins,
}

// mustHaveAccess panics if an operation of the document is not in the table Access.
func mustHaveAccess(doc *huma.OpenAPI) {
	for path, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op == nil {
				continue
			}
			if _, ok := Access[op.OperationID]; !ok {
				panic("operation " + op.OperationID + " (" + path + ") is not in the table of internal/api/access.go")
			}
		}
	}
}

// isOpen tells whether the request needs no token.
func isOpen(r *http.Request) bool { return r.URL.Path == "/healthz" || r.URL.Path == "/readyz" }

// permitted is the middleware for operations of the OpenAPI library: it refuses callers without a role for the
// operation.
func permitted(ctx huma.Context, next func(huma.Context)) {
	if prob := MayDo(auth.From(ctx.Context()), ctx.Operation().OperationID); prob != nil {
		r, w := humago.Unwrap(ctx)
		WriteProblem(w, prob, ProblemMedia(r))
		return
	}
	next(ctx)
}

// guarded wraps a plain handler: it refuses callers without a role for the operation.
func guarded(operation string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if prob := MayDo(auth.From(r.Context()), operation); prob != nil {
			WriteProblem(w, prob, ProblemMedia(r))
			return
		}
		next(w, r)
	}
}

// MayDo returns nil if the table Access lets the caller call the operation, and the problem otherwise.
func MayDo(who *auth.Identity, operation string) *wire.Problem {
	roles := Access[operation]
	if roles != nil && len(roles) == 0 || who.Has(roles...) {
		return nil
	}
	return Denied(wire.CodeRoleMissing, "your token may not call operation "+operation+"; the operation needs the role "+OrList(RoleNames(roles)))
}

// RoleNames returns the names of the roles.
func RoleNames(roles []auth.Role) []string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return names
}

// OrList joins names to a text such as "a, b or c".
func OrList(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// bearerScheme is the name of the only security scheme in the OpenAPI document.
const bearerScheme = "bearer"

// documentAccess writes the roles of the operation into the document.
func documentAccess(op *huma.Operation) {
	roles := Access[op.OperationID]
	if len(roles) == 0 {
		op.Extensions = map[string]any{"security": []any{}} // Through Extensions, because the library leaves out an empty Security.
		return
	}
	op.Security = []map[string][]string{{bearerScheme: {}}}
	op.Extensions = map[string]any{"x-roles": RoleNames(roles)}
}

// Values of the header WWW-Authenticate (RFC 6750).
const (
	challenge    = `Bearer realm="tallyman"`
	insufficient = challenge + `, error="insufficient_scope"`
	invalid      = challenge + `, error="invalid_token"`
)

// Unauthorized returns the problem for an error of package auth, or nil for any other error. The problem helps no
// attacker: only a caller who sends the right secret learns that the token has expired or was revoked.
func Unauthorized(err error) *wire.Problem {
	for _, c := range []struct {
		is        error
		code      wire.Code
		challenge string
	}{
		{auth.ErrNoToken, wire.CodeTokenMissing, challenge},
		{auth.ErrBadToken, wire.CodeTokenInvalid, invalid},
		{auth.ErrExpired, wire.CodeTokenExpired, invalid},
		{auth.ErrRevoked, wire.CodeTokenRevoked, invalid},
	} {
		if errors.Is(err, c.is) {
			p := wire.NewProblem(http.StatusUnauthorized, c.code, err.Error())
			p.Challenge = c.challenge
			return p
		}
	}
	if errors.Is(err, auth.ErrNoKeys) {
		p := wire.NewProblem(http.StatusServiceUnavailable, wire.CodeKeysUnavailable, err.Error()+"; try again")
		p.RetryAfter = 5
		return p
	}
	return nil
}

// WhenOver calls cancel if the caller's token ends before the context does, so that a waiting request ends with its
// token. The code that waits must call the returned function when the wait is over. The returned function ends the
// goroutine of WhenOver.
func WhenOver(ctx context.Context, who *auth.Identity, cancel func()) func() {
	if who.Ended == nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		select {
		case <-who.Ended:
			cancel()
		case <-done:
		case <-ctx.Done():
		}
	}()
	return func() { close(done) }
}

// The bounds of the log lines about refused requests, for all callers together. A client with a wrong token asks again
// and again. In each window, only the first mostRefusalLines requests have a line of their own.
const (
	refusalsWindow   = 10 * time.Second
	mostRefusalLines = 5
)

// logRefusal logs a refused request of an unknown caller. The line repeats no part of the credential.
func (a *API) logRefusal(w http.ResponseWriter, r *http.Request, prob *wire.Problem) {
	level := slog.LevelInfo
	if prob.Code == wire.CodeTokenMissing {
		level = slog.LevelDebug // Normal for browsers and for people who try a URL.
	}
	if !a.log.Enabled(r.Context(), level) {
		return
	}
	ctx := context.WithoutCancel(r.Context())
	attrs := append(RequestAttrs(w, r), slog.String("code", string(prob.Code)), slog.String("detail", prob.Detail))
	line := func() { a.log.LogAttrs(ctx, level, "Request was refused.", attrs...) }
	if level == slog.LevelDebug {
		line()
		return
	}
	a.refusals.Event(line)
}
