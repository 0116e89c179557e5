package auth

import (
	"context"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

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
	ends   ends
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
