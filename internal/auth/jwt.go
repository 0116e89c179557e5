package auth

import (
	"context"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/strictjson"
)

// JWTOptions say which JWTs are accepted, and how their claims become an Identity. One of Secret, PublicKey and Keys is
// needed.
type JWTOptions struct {
	Secret    []byte         // For HS256.
	PublicKey *rsa.PublicKey // For RS256.
	Keys      *Keys          // For RS256, by the id of the key.

	Audience string // Must be among the audiences of the token.
	Issuer   string // "" = any.
	Leeway   time.Duration
	Claims   Claims

	Access     []Role   // Roles of a caller whose token names no Role in the claim Claims.Access.
	Warehouses []string // Warehouses of a caller whose token does not have the claim Claims.Warehouses.
}

// JWT checks JWTs.
type JWT struct {
	opts   JWTOptions
	parser *jwt.Parser
	key    func(context.Context) jwt.Keyfunc
	ends   endTimers
}

// NewJWT makes a JWT for one kind of key. It accepts only the algorithm of that kind, whatever the header of a token
// says: otherwise an attacker could sign with HS256 and the public key as the secret.
func NewJWT(o JWTOptions) *JWT {
	j := &JWT{opts: o}
	algorithm := jwt.SigningMethodRS256.Alg()
	switch {
	case o.Keys != nil:
		j.key = o.Keys.keyfunc
	case o.PublicKey != nil:
		j.key = always(o.PublicKey)
	default:
		algorithm, j.key = jwt.SigningMethodHS256.Alg(), always(o.Secret)
	}
	options := []jwt.ParserOption{
		jwt.WithValidMethods([]string{algorithm}), jwt.WithAudience(o.Audience), jwt.WithExpirationRequired(),
		jwt.WithLeeway(o.Leeway), jwt.WithJSONNumber(), jwt.WithStrictDecoding(),
	}
	if o.Issuer != "" {
		options = append(options, jwt.WithIssuer(o.Issuer))
	}
	j.parser = jwt.NewParser(options...)
	return j
}

func always(key any) func(context.Context) jwt.Keyfunc {
	return func(context.Context) jwt.Keyfunc { return func(*jwt.Token) (any, error) { return key, nil } }
}

var errCritical = fmt.Errorf("%w: its header has crit", ErrBadToken)

// identify checks the token and reads the identity from its claims.
func (j *JWT) identify(ctx context.Context, text string) (Identity, error) {
	key := j.key(ctx)
	token, err := j.parser.Parse(text, func(t *jwt.Token) (any, error) {
		if _, has := t.Header["crit"]; has { // RFC 7515: an unknown critical extension must be refused.
			return nil, errCritical
		}
		return key(t)
	})
	if err != nil {
		return Identity{}, whyNot(err)
	}
	if !claimsOnce(text) {
		return Identity{}, fmt.Errorf("%w: it has a claim twice", ErrBadToken)
	}
	claims, ok := token.Claims.(jwt.MapClaims)
	if !ok {
		return Identity{}, fmt.Errorf("%w: it has no claims", ErrBadToken)
	}
	expires, err := claims.GetExpirationTime()
	if err != nil || expires == nil { // The parser has checked it; this never happens.
		return Identity{}, fmt.Errorf("%w: it has no exp", ErrBadToken)
	}
	who, err := j.opts.identity(claims)
	if err != nil {
		return Identity{}, err
	}
	who.Expires = expires.Add(j.opts.Leeway)
	who.Ended = j.ends.at(who.Expires)
	return who, nil
}

// claimsOnce tells whether no claim of the token occurs twice (RFC 7519, section 4). Of two claims with the same name
// one program reads the first and another program the last, so the two programs would see different callers. The token
// was parsed before.
func claimsOnce(text string) bool {
	_, rest, _ := strings.Cut(text, ".")
	encoded, _, _ := strings.Cut(rest, ".")
	claims, err := base64.RawURLEncoding.DecodeString(encoded)
	return err == nil && strictjson.Check(claims) == nil
}

// whyNot translates an error of the library into an error of this package. The library checks the signature before the
// claims, so a caller who cannot sign does not learn which claims would be accepted.
func whyNot(err error) error {
	switch {
	case errors.Is(err, ErrNoKeys):
		return ErrNoKeys
	case errors.Is(err, errCritical):
		return errCritical
	}
	for _, c := range []struct {
		is   error
		says string
	}{
		{jwt.ErrTokenMalformed, "it is not a JWT"},
		{jwt.ErrTokenUnverifiable, "its key is unknown"},
		{jwt.ErrTokenSignatureInvalid, "its signature does not match a known key and the expected algorithm"},
		{jwt.ErrTokenInvalidAudience, "it is for another audience (aud)"},
		{jwt.ErrTokenInvalidIssuer, "it is from another issuer (iss)"},
		{jwt.ErrTokenRequiredClaimMissing, "it lacks exp, aud or iss"},
		{jwt.ErrTokenNotValidYet, "it is not valid yet (nbf)"},
	} {
		if errors.Is(err, c.is) {
			return fmt.Errorf("%w: %s", ErrBadToken, c.says)
		}
	}
	if errors.Is(err, jwt.ErrTokenExpired) {
		return ErrExpired
	}
	return ErrBadToken
}

// Claims are the names of the claims that become an Identity. Dots name a claim inside another claim, such as
// realm_access.roles; a claim whose own name has these dots is preferred. An empty name means that the claim is not
// read.
type Claims struct {
	Subject    string // The user's id, without the prefix user: of the identity.
	Roles      string // Roles of the subscriber, as a list or a text with spaces. The word keeper means role:keeper.
	Warehouses string // A list or a text with spaces; numbers are accepted, too.
	Access     string // A list or a text with spaces; words that are no Role are ignored.
}

// identity reads the identity from the claims of a token.
func (o *JWTOptions) identity(claims jwt.MapClaims) (Identity, error) {
	subjects := words(find(claims, o.Claims.Subject))
	if len(subjects) != 1 {
		return Identity{}, fmt.Errorf("%w: its claim %s does not name one user", ErrBadToken, o.Claims.Subject)
	}
	// The provider chooses the id, and this package adds the kind. A name that somebody chose at the provider must not
	// become a service here (service:wms), which only API tokens can be, or another user (user:ann).
	if strings.Contains(subjects[0], ":") {
		return Identity{}, fmt.Errorf("%w: its claim %s has a colon; a JWT names a user, and the id of a user has no colon; a service needs an API token", ErrBadToken, o.Claims.Subject)
	}
	who := Identity{Subject: "user:" + subjects[0], Access: o.Access, Warehouses: o.Warehouses, Via: ledger.ViaJWT}
	if !subjectPattern.MatchString(who.Subject) {
		return Identity{}, fmt.Errorf("%w: its claim %s is not a valid user id: letters, digits, _ . @ -", ErrBadToken, o.Claims.Subject)
	}
	who.Subscribers = append(who.Subscribers, who.Subject)
	for _, role := range words(find(claims, o.Claims.Roles)) {
		role = "role:" + strings.TrimPrefix(role, "role:")
		if subscriberPattern.MatchString(role) && !slices.Contains(who.Subscribers, role) { // A role that cannot be a subscriber has no inbox.
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

// find returns the claim with the name, or nil.
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

// words reads a claim that is a text, a number, or a list of texts and numbers.
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

// endTimers has a channel for each second in which a seen JWT expires. All JWTs that expire in the same second share
// one timer; otherwise each request would need its own.
type endTimers struct {
	mu   sync.Mutex
	open map[int64]chan struct{}
}

// at returns the channel that closes at the time, to the second.
func (e *endTimers) at(t time.Time) <-chan struct{} {
	second := t.Unix()
	e.mu.Lock()
	defer e.mu.Unlock()
	if c, ok := e.open[second]; ok {
		return c
	}
	if e.open == nil {
		e.open = map[int64]chan struct{}{}
	}
	c := make(chan struct{})
	e.open[second] = c
	time.AfterFunc(time.Until(t), func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.open, second)
		close(c)
	})
	return c
}
