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

// Those who may, by what they do.
var (
	everybody  = auth.Roles()
	Onlookers  = []auth.Role{auth.Viewer, auth.Operator, auth.Admin}
	Operators  = []auth.Role{auth.Operator, auth.Admin}
	admins     = []auth.Role{auth.Admin}
	pollers    = []auth.Role{auth.Client, auth.Service, auth.Viewer, auth.Operator, auth.Admin} // viewers and operators: shadow inboxes alone
	readers    = []auth.Role{auth.Client, auth.Service, auth.Admin}
	senders    = []auth.Role{auth.Service, auth.Producer, auth.Operator, auth.Admin}
	subscribes = []auth.Role{auth.Service, auth.Operator, auth.Admin}
	pushers    = []auth.Role{auth.Producer, auth.Operator, auth.Admin}
	workers    = []auth.Role{auth.Worker, auth.Operator, auth.Admin}
	queuers    = []auth.Role{auth.Producer, auth.Worker, auth.Viewer, auth.Operator, auth.Admin}
)

// openAccess is the roles of what asks for no token at all.
var openAccess = []auth.Role{}

// Access says who may do what: the roles that each operation is allowed to, by its id. An operation that is not here is not served: the
// program does not start.
var Access = map[string][]auth.Role{
	"healthz": openAccess,
	"readyz":  openAccess,
	"openapi": everybody,
	"metrics": Onlookers, // who sees all warehouses
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

	"list-subscription-origins": Onlookers, // who sees all warehouses, and so below
	"confirm-subscriptions":     Operators,
	"release-subscriptions":     Operators,

	"list-scope-origins": Onlookers, // who sees all warehouses, and so below
	"confirm-scopes":     Operators,
	"forget-scopes":      Operators,

	"list-subscribers":  Onlookers, // who sees all warehouses, and so below
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
	"step":               workers, // and for each of its operations the line below
	"ack-item":           workers,
	"nack-item":          workers,
	"release-item":       workers,
	"extend-item":        workers,
	"suspend-item":       workers, // a worker: what it has leased, and so below
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
	"get-rule-source": Onlookers, // one that is not for all warehouses: a rule of whose scopes all are his
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
	"draft-rule":      Operators, // who sees all warehouses

	"list-silences":  Onlookers,
	"get-silence":    Onlookers,
	"create-silence": Operators, // one that is not for all warehouses: for his own by name, and so below
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

	"list-audit": Onlookers, // who sees all warehouses

	"get-clock":     Onlookers,
	"confirm-clock": Operators, // who sees all warehouses

	"get-log":       Onlookers,
	"set-log-level": Operators, // who sees all warehouses

	"list-tokens":  admins,
	"create-token": admins,
	"revoke-token": admins,
}

// mustHaveAccess panics where an operation of the document is not in the table.
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

// isOpen tells whether the request is for what needs no token.
func isOpen(r *http.Request) bool { return r.URL.Path == "/healthz" || r.URL.Path == "/readyz" }

// permitted lets those do an operation of the OpenAPI library who may.
func permitted(ctx huma.Context, next func(huma.Context)) {
	if prob := MayDo(auth.From(ctx.Context()), ctx.Operation().OperationID); prob != nil {
		r, w := humago.Unwrap(ctx)
		WriteProblem(w, prob, ProblemMedia(r))
		return
	}
	next(ctx)
}

// guarded lets those do a plain operation who may.
func guarded(operation string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if prob := MayDo(auth.From(r.Context()), operation); prob != nil {
			WriteProblem(w, prob, ProblemMedia(r))
			return
		}
		next(w, r)
	}
}

// MayDo is nil where the table lets the caller do the operation.
func MayDo(who *auth.Identity, operation string) *wire.Problem {
	roles := Access[operation]
	if roles != nil && len(roles) == 0 || who.Has(roles...) {
		return nil
	}
	return Denied(wire.CodeRoleMissing, "your token may not do this ("+operation+"); it takes the role "+OrList(RoleNames(roles)))
}

// RoleNames are the roles as texts.
func RoleNames(roles []auth.Role) []string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return names
}

// OrList is a, b or c.
func OrList(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// bearerScheme is the name of the one way to say who one is.
const bearerScheme = "bearer"

// documentAccess says in the document who may do the operation.
func documentAccess(op *huma.Operation) {
	roles := Access[op.OperationID]
	if len(roles) == 0 {
		op.Extensions = map[string]any{"security": []any{}} // said in full: the library leaves an empty list out
		return
	}
	op.Security = []map[string][]string{{bearerScheme: {}}}
	op.Extensions = map[string]any{"x-roles": RoleNames(roles)}
}

// What WWW-Authenticate says (RFC 6750).
const (
	challenge    = `Bearer realm="tallyman"`
	insufficient = challenge + `, error="insufficient_scope"`
	invalid      = challenge + `, error="invalid_token"`
)

// Unauthorized is the problem of a request whose caller is not known; nil where the error is none of those. Codes and texts tell who has no good
// token nothing: that one has expired, or was revoked, only he learns who has it.
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

// WhenOver calls cancel when the caller's token ends before the context does, so that who waits is not left waiting. The function that it returns
// lets go of it.
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

// A client with a wrong token asks again and again. Of its requests, and those of all others, so many have lines of their own.
const (
	refusalsWindow   = 10 * time.Second
	mostRefusalLines = 5
)

// logRefusal tells of a caller that is not known. Tokens are not in it, nor what a client made up.
func (a *API) logRefusal(w http.ResponseWriter, r *http.Request, prob *wire.Problem) {
	level := slog.LevelInfo
	if prob.Code == wire.CodeTokenMissing {
		level = slog.LevelDebug // browsers and people who look around
	}
	if !a.log.Enabled(r.Context(), level) {
		return
	}
	ctx := context.WithoutCancel(r.Context())
	attrs := append(RequestAttrs(w, r), slog.String("code", string(prob.Code)), slog.String("detail", prob.Detail))
	line := func() { a.log.LogAttrs(ctx, level, "a request was refused", attrs...) }
	if level == slog.LevelDebug {
		line()
		return
	}
	a.refusals.Event(line)
}
