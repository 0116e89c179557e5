package request

import (
	"crypto"
	"encoding/json"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"tallyman/internal/certs"
	"tallyman/internal/settings"
	"tallyman/rules/strictyaml"
)

// Assertion is the JWT by which a site proves who it is, to get a token (RFC 7523).
type Assertion struct {
	Key       settings.File `yaml:"key,required" doc:"a file with the private key in PEM, or a JSON file whose private_key is the key; a changed file is read again"`
	Algorithm string        `yaml:"algorithm" enum:"RS256,ES256,EdDSA" doc:"the algorithm of the signature"`
	KeyID     string        `yaml:"key_id" doc:"the header kid; without it the JWT has no kid"`
	Claims    Tree          `yaml:"claims" doc:"a map with iss, scope, aud and other claims that the service expects; iat and exp are added"`
	Life      time.Duration `yaml:"life" min:"1m" max:"24h" doc:"how long the JWT is good: from iat to exp"`
}

// SetDefaults implements strictyaml.Defaulter.
func (a *Assertion) SetDefaults() { a.Algorithm, a.Life = "RS256", time.Hour }

// CheckAt reports faults of the claims. values has the texts that the templates of the claims may name.
func (a *Assertion) CheckAt(at settings.Section, values Values) {
	where := at.In("claims")
	if a.Claims.kind != strictyaml.Mapping {
		where.Fail(CodeBody, where.String()+" takes a map", "for example {iss: wms@example.com, aud: https://oauth2.example.com/token}")
		return
	}
	a.Claims.check(where, &TokenView{Values: values})
}

// Signer signs the assertions of a site.
type Signer struct {
	assertion *Assertion
	values    Values
	key       *certs.Files[crypto.PrivateKey]
}

// NewSigner reads the key. If the key changes and cannot be read again, told gets the error, and the previous key stays
// in use.
func NewSigner(a *Assertion, values Values, told func(error)) (*Signer, error) {
	s := &Signer{assertion: a, values: values}
	var err error
	s.key, err = certs.Open(certs.Options[crypto.PrivateKey]{
		Names: []string{string(a.Key)}, Parse: s.parse, Told: func(_ crypto.PrivateKey, err error) {
			if err != nil {
				told(err)
			}
		},
	})
	return s, err
}

func (s *Signer) parse(files [][]byte) (crypto.PrivateKey, error) {
	pem := files[0]
	var inJSON struct {
		Key string `json:"private_key"`
	}
	if json.Unmarshal(pem, &inJSON) == nil {
		pem = []byte(inJSON.Key)
	}
	var key crypto.PrivateKey
	var err error
	switch s.assertion.Algorithm {
	case "ES256":
		key, err = jwt.ParseECPrivateKeyFromPEM(pem)
	case "EdDSA":
		key, err = jwt.ParseEdPrivateKeyFromPEM(pem)
	default:
		key, err = jwt.ParseRSAPrivateKeyFromPEM(pem)
	}
	if err != nil {
		return nil, fmt.Errorf("%s has no private key for %s: %w", s.assertion.Key, s.assertion.Algorithm, err)
	}
	return key, nil
}

// Sign makes the assertion for the time now.
func (s *Signer) Sign(now time.Time) (string, error) {
	text, err := s.assertion.Claims.json(nil, &TokenView{Values: s.values})
	if err != nil {
		return "", fmt.Errorf("the claims: %w", err)
	}
	claims := jwt.MapClaims{}
	if err := json.Unmarshal(text, &claims); err != nil {
		return "", fmt.Errorf("the claims: %w", err)
	}
	claims["iat"], claims["exp"] = now.Unix(), now.Add(s.assertion.Life).Unix()
	token := jwt.NewWithClaims(jwt.GetSigningMethod(s.assertion.Algorithm), claims)
	if s.assertion.KeyID != "" {
		token.Header["kid"] = s.assertion.KeyID
	}
	key, _ := s.key.Get() // the callback told has got the error already
	return token.SignedString(key)
}
