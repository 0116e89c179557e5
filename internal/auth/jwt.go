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

// JWTOptions say which JWTs are taken, and who they are from. One of Secret, PublicKey and Keys is needed.
type JWTOptions struct {
	Secret    []byte         // HS256
	PublicKey *rsa.PublicKey // RS256
	Keys      *Keys          // RS256, by the key's id

	Audience string // has to be among those of the token
	Issuer   string // "" = any
	Leeway   time.Duration
	Claims   Claims

	Access     []Role   // of those whose token has no claim of it
	Warehouses []string // likewise
}

// JWT knows JWTs.
type JWT struct {
	opts   JWTOptions
	parser *jwt.Parser
	key    func(context.Context) jwt.Keyfunc
	ends   endTimers
}

// NewJWT makes what knows the JWTs of one kind of key, whose algorithm alone is taken, whatever a token says of itself.
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

// identify checks the token and reads who it is from.
func (j *JWT) identify(ctx context.Context, text string) (Identity, error) {
	key := j.key(ctx)
	token, err := j.parser.Parse(text, func(t *jwt.Token) (any, error) {
		if _, has := t.Header["crit"]; has { // a must that nobody here has heard of
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
	if err != nil || expires == nil { // the parser has seen it
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

// claimsOnce tells whether every claim of a token is there once (RFC 7519, section 4): who reads the first of two and who reads the last would
// see different callers. The token was parsed before.
func claimsOnce(text string) bool {
	_, rest, _ := strings.Cut(text, ".")
	encoded, _, _ := strings.Cut(rest, ".")
	claims, err := base64.RawURLEncoding.DecodeString(encoded)
	return err == nil && strictjson.Check(claims) == nil
}

// whyNot says in words of ours what is wrong with a token. Its claims are looked at only where the signature is good, so that whoever cannot
// sign learns nothing of what would be taken.
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
		{jwt.ErrTokenMalformed, "it is no JWT"},
		{jwt.ErrTokenUnverifiable, "nobody here knows its key"},
		{jwt.ErrTokenSignatureInvalid, "its signature is not that of a key and an algorithm that are known here"},
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

// endTimers has a channel for each second in which JWTs expire that were seen. So it costs one timer for all that expire together, and not one for
// each request.
type endTimers struct {
	mu   sync.Mutex
	open map[int64]chan struct{}
}

// at returns the channel that is closed in that second.
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
