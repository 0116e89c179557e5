package auth

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"tallyman/internal/ledger"
)

// Claims are the names of the claims that say who a JWT is from. One inside another is written with dots, as in realm_access.roles; a claim
// whose own name has these dots comes first. Empty ones are not looked at.
type Claims struct {
	Subject    string // a user's id, without the user: that the identity has before it
	Roles      string // of the subscriber, a list or a text with spaces between: keeper stands for role:keeper
	Warehouses string // likewise; numbers will do
	Access     string // likewise; words that are no roles of ours are left out
}

// identity reads who a token is from.
func (o *JWTOptions) identity(claims jwt.MapClaims) (Identity, error) {
	subjects := words(find(claims, o.Claims.Subject))
	if len(subjects) != 1 {
		return Identity{}, fmt.Errorf("%w: its claim %s names nobody", ErrBadToken, o.Claims.Subject)
	}
	// The id is the provider's, the kind is ours: a name that somebody has chosen there must not be another kind of principal here, as service:wms,
	// which API tokens are, or the id of somebody else, as user:ann.
	if strings.Contains(subjects[0], ":") {
		return Identity{}, fmt.Errorf("%w: its claim %s has a colon; a JWT is of a user, whose id has none, and a service has an API token", ErrBadToken, o.Claims.Subject)
	}
	who := Identity{Subject: "user:" + subjects[0], Access: o.Access, Warehouses: o.Warehouses, Via: ledger.ViaJWT}
	if !subjectPattern.MatchString(who.Subject) {
		return Identity{}, fmt.Errorf("%w: its claim %s is no id of a user: letters, digits, _ . @ -", ErrBadToken, o.Claims.Subject)
	}
	who.Subscribers = append(who.Subscribers, who.Subject)
	for _, role := range words(find(claims, o.Claims.Roles)) {
		role = "role:" + strings.TrimPrefix(role, "role:")
		if subscriberPattern.MatchString(role) && !slices.Contains(who.Subscribers, role) { // what is no subscriber has no inbox
			who.Subscribers = append(who.Subscribers, role)
		}
	}
	if v := find(claims, o.Claims.Warehouses); v != nil {
		who.Warehouses = slices.DeleteFunc(words(v), func(w string) bool { return !warehousePattern.MatchString(w) })
	}
	var access []Role
	for _, word := range words(find(claims, o.Claims.Access)) {
		if slices.Contains(Roles(), Role(word)) {
			access = append(access, Role(word))
		}
	}
	if len(access) > 0 {
		who.Access = access
	}
	return who, nil
}

// find returns the claim of that name; nil where there is none.
func find(claims map[string]any, name string) any {
	if name == "" {
		return nil
	}
	if v, ok := claims[name]; ok {
		return v
	}
	for at := range len(name) {
		if name[at] != '.' {
			continue
		}
		if inner, ok := claims[name[:at]].(map[string]any); ok {
			if v := find(inner, name[at+1:]); v != nil {
				return v
			}
		}
	}
	return nil
}

// words reads a claim that is a text or a number or a list of them.
func words(v any) []string {
	switch x := v.(type) {
	case string:
		return strings.Fields(x)
	case json.Number:
		return []string{x.String()}
	case []any:
		var out []string
		for _, one := range x {
			switch e := one.(type) {
			case string:
				out = append(out, e)
			case json.Number:
				out = append(out, e.String())
			}
		}
		return out
	}
	return nil
}
