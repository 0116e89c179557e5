package request

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"tallyman/internal/settings"
)

// Token is the call that fetches the access token of a service, as a site writes it.
type Token struct {
	Template `yaml:",inline"`

	URL       settings.Secret `yaml:"url,required" doc:"the address of the token server, http or https; kept secret"`
	Answer    Success         `yaml:"answer" doc:"how the body of an answer shows success or failure, in addition to the status"`
	Value     string          `yaml:"value,required" doc:"where the answer has the token: names with dots between"`
	Expires   string          `yaml:"expires" doc:"where the answer says for how many seconds the token is good"`
	Life      time.Duration   `yaml:"life" min:"1m" max:"720h" doc:"how long a token is good where no answer says it"`
	Assertion *Assertion      `yaml:"assertion" doc:"a signed JWT, which the templates name as .Assertion"`
}

// SetDefaults implements strictyaml.Defaulter.
func (t *Token) SetDefaults() {
	t.Template.SetDefaults()
	t.Life = time.Hour
}

// CheckAt reports faults of the settings. values has the texts that templates may name.
func (t *Token) CheckAt(at settings.Section, values Values) {
	where := at.In("url")
	if !settings.IsOpen(where) && settings.WebURL(t.URL.Reveal()) == nil {
		where.Fail(settings.CodeURL, where.String()+" is no address of a web server", "https://host/path")
	}
	t.Template.CheckAt(at, &TokenView{Assertion: "sample", Values: values})
	(&Answer{Success: t.Answer}).CheckAt(at.In("answer"))
	if t.Assertion != nil {
		t.Assertion.CheckAt(at.In("assertion"), values)
	}
}

// longestToken is the longest life of a token that an answer can set.
const longestToken = 30 * 24 * time.Hour

// Read returns the token of an answer, and its life.
func (t *Token) Read(answer []byte) (token string, life time.Duration, err error) {
	token, life = Find(answer, t.Value), t.Life
	if token == "" {
		return "", 0, errors.New("the answer has no " + t.Value)
	}
	if t.Expires == "" {
		return token, life, nil
	}
	seconds, err := strconv.ParseFloat(Find(answer, t.Expires), 64)
	if err != nil || !(seconds > 0) { // NaN is refused, too
		return "", 0, errors.New("the answer has no seconds at " + t.Expires)
	}
	return token, time.Duration(min(seconds, longestToken.Seconds()) * float64(time.Second)), nil
}

// Tokens keeps the access token of a service. Only one caller at a time fetches a new token, and all callers that wait
// share the new token.
type Tokens struct {
	fetch func(context.Context) (token string, life time.Duration, err error)
	now   func() time.Time
	turn  chan struct{} // full while a caller fetches

	mu     sync.Mutex
	token  string
	until  time.Time // when a new token is needed
	failed error     // the error of the last fetch
	tries  int       // the number of fetches that have ended
}

// NewTokens returns a Tokens that has no token yet.
func NewTokens(fetch func(context.Context) (string, time.Duration, error), now func() time.Time) *Tokens {
	return &Tokens{fetch: fetch, now: now, turn: make(chan struct{}, 1)}
}

// Get returns a token that stays valid for a while. If a service refused a token, name it in refused: Get does not
// return it again.
func (t *Tokens) Get(ctx context.Context, refused string) (string, error) {
	token, tries, _ := t.current(refused)
	if token != "" {
		return token, nil
	}
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	token, now, failed := t.current(refused)
	if token != "" {
		return token, nil
	}
	if now > tries && failed != nil { // another caller has just tried; its failure counts for all callers that waited
		return "", failed
	}
	token, life, err := t.fetch(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if ctx.Err() == nil { // a fetch that ended with its caller says nothing about the others
		t.tries, t.failed = t.tries+1, err
	}
	if err != nil {
		return "", err
	}
	t.token, t.until = token, t.now().Add(life-early(life))
	return token, nil
}

// early returns how long before its end a token is replaced: a tenth of its life, at most five minutes.
func early(life time.Duration) time.Duration { return min(life/10, 5*time.Minute) }

// current returns the kept token. current returns "" if the token has expired or was refused.
func (t *Tokens) current(refused string) (token string, tries int, failed error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == refused || !t.now().Before(t.until) {
		return "", t.tries, t.failed
	}
	return t.token, t.tries, nil
}
