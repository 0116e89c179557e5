package tallyman

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"tallyman/clients/go/api"
)

// Client calls one Tallyman service. A Client is safe for concurrent use.
type Client struct {
	API *api.ClientWithResponses // All operations of programs. A call is tried once.
}

// New makes a client of the service at a URL such as http://127.0.0.1:8080. The option [Token] sets the token. The
// option api.WithHTTPClient sets certificates or a proxy.
func New(server string, options ...api.ClientOption) (*Client, error) {
	accept := api.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		if r.Header.Get("Accept") == "" {
			r.Header.Set("Accept", "application/json")
		}
		return nil
	})
	c, err := api.NewClientWithResponses(server, append([]api.ClientOption{accept}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("client of %s: %w", server, err)
	}
	return &Client{API: c}, nil
}

// Token sends an API token or a JWT with every request. The empty token sends nothing, for services with auth.mode
// none.
func Token(token string) api.ClientOption {
	return TokenFrom(func(context.Context) (string, error) { return token, nil })
}

// TokenFrom calls a function for the token before each request. Use TokenFrom for JWTs, which expire.
func TokenFrom(source func(ctx context.Context) (string, error)) api.ClientOption {
	return api.WithRequestEditorFn(func(ctx context.Context, r *http.Request) error {
		token, err := source(ctx)
		if err != nil {
			return fmt.Errorf("get a token: %w", err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return nil
	})
}

// answerWithin is how long a request may take in addition to its wait at the server. After that the connection counts
// as dead.
const answerWithin = 20 * time.Second

// wait is how long a request waits at the server for something new.
const wait = 25 * time.Second

// seconds formats a duration for the API.
func seconds(d time.Duration) *string {
	text := fmt.Sprintf("%gs", d.Seconds())
	return &text
}

// step calls POST /queues/{queue}/step once. Payloads stay unchanged.
func (c *Client) step(ctx context.Context, queue string, body api.Step, waits time.Duration) (answer stepAnswer, err error) {
	ctx, cancel := context.WithTimeout(ctx, waits+answerWithin)
	defer cancel()
	resp, err := c.API.Step(ctx, queue, body)
	if err != nil {
		return answer, err
	}
	return answer, read(resp, &answer)
}

// read decodes the body of an answer with status 200. Any other answer is a [ProblemError].
func read(resp *http.Response, into any) error {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		return newProblemError(resp, body) // The body may be incomplete.
	}
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		return fmt.Errorf("the answer is incomplete: %w", err)
	}
	return nil
}

type stepAnswer struct {
	Results []api.Result `json:"results"`
	Items   []Item       `json:"items"`
}
