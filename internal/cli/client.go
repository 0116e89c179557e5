package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"tallyman/internal/ledger"
)

const (
	agent          = "tallyman-cli/" // what the User-Agent begins with
	defaultServer  = "http://127.0.0.1:8080"
	requestTimeout = 30 * time.Second
	maxAnswer      = 96 << 20 // bytes: 1,000 items of a queue with the largest payloads
)

// client talks to a server's API.
type client struct {
	base   string // without a trailing slash
	http   *http.Client
	header http.Header // that requests have besides
	token  string      // the bearer token; "" = none
	bad    error       // what is wrong with the files of token and authority
}

func (c *command) client() *client {
	server := c.server
	if server == "" {
		server = c.getenv("TALLYMAN_SERVER")
	}
	if server == "" {
		server = defaultServer
	}
	if !strings.Contains(server, "://") {
		server = "http://" + server
	}
	token, badToken := c.token()
	caller, badFile := c.httpClient(requestTimeout)
	return &client{base: strings.TrimRight(server, "/"), http: caller, token: token, bad: cmp.Or(badToken, badFile)}
}

// readAtMost reads everything, or fails where there is more than so many bytes: nothing is cut off in silence.
func readAtMost(from io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(from, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("there are more than %d bytes", most)
	}
	return b, err
}

// maxTokenFile bounds what is read of a token's file, in bytes.
const maxTokenFile = 64 << 10

// token is what the file of --token-file has, or $TALLYMAN_TOKEN. There is no flag for the token itself: others see command lines.
func (c *command) token() (string, error) {
	if c.tokenFile == "" {
		return strings.TrimSpace(c.getenv("TALLYMAN_TOKEN")), nil
	}
	f, err := os.Open(c.tokenFile)
	if err != nil {
		return "", usage("--token-file: %w", err)
	}
	defer func() { _ = f.Close() }()
	b, err := readAtMost(f, maxTokenFile)
	if err != nil {
		return "", usage("--token-file: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", usage("--token-file: %s holds no token", c.tokenFile)
	}
	return token, nil
}

// listSubscriptions asks for every page; an empty field of the filter is any.
func (c *client) listSubscriptions(ctx context.Context, f ledger.Subscription) ([]ledger.Subscription, error) {
	query := url.Values{"limit": {"1000"}}
	for name, value := range map[string]string{"type": f.Type, "warehouse": f.Warehouse, "subscriber": f.Subscriber} {
		if value != "" {
			query.Set(name, value)
		}
	}
	all := []ledger.Subscription{}
	for {
		var page struct {
			Subscriptions []ledger.Subscription `json:"subscriptions"`
			Cursor        string                `json:"cursor"`
		}
		if err := c.do(ctx, http.MethodGet, "/subscriptions?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Subscriptions...)
		if page.Cursor == "" {
			return all, nil
		}
		query.Set("after", page.Cursor)
	}
}

func (c *client) importSubscriptions(ctx context.Context, subs []ledger.Subscription) (changeForm, error) {
	var form changeForm
	body := struct {
		Subscriptions []ledger.Subscription `json:"subscriptions"`
	}{subs}
	err := c.do(ctx, http.MethodPost, "/subscriptions/import", body, &form)
	return form, err
}

func (c *client) removeSubscription(ctx context.Context, s ledger.Subscription) error {
	query := url.Values{"type": {s.Type}, "warehouse": {s.Warehouse}, "subscriber": {s.Subscriber}}
	return c.do(ctx, http.MethodDelete, "/subscriptions?"+query.Encode(), nil, nil)
}

// ask makes a request, and returns the answer as it came beside what was decoded into form.
func (c *client) ask(ctx context.Context, method, path string, body, form any) (json.RawMessage, error) {
	var raw json.RawMessage
	if err := c.do(ctx, method, path, body, &raw); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, form); err != nil {
		return nil, c.strange(err)
	}
	return raw, nil
}

// do makes one request below /api/v1 and decodes the answer.
func (c *client) do(ctx context.Context, method, path string, body, answer any) error {
	var payload io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		payload = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+"/api/v1"+path, payload)
	if err != nil || req.URL.Scheme != "http" && req.URL.Scheme != "https" || req.URL.Host == "" {
		return usage("--server takes an address such as %s, not %q", defaultServer, c.base)
	}
	maps.Copy(req.Header, c.header)
	if c.bad != nil {
		return c.bad
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", agent+buildVersion().Version)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if ctx.Err() != nil {
		return unreachable(fmt.Errorf("stopped before %s had answered", c.base))
	}
	if err != nil {
		return c.unanswered(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := readAtMost(res.Body, maxAnswer)
	if err != nil {
		return unreachable(fmt.Errorf("the answer of %s broke off: %w", c.base, err))
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return c.refused(res, b)
	}
	if answer == nil {
		return nil
	}
	if isPage(res) {
		return c.foreign(res, b)
	}
	if err := json.Unmarshal(b, answer); err != nil {
		return c.strange(err)
	}
	return nil
}
