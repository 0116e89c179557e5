package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/wire"
)

const (
	agent          = "tallyman-cli/" // the beginning of the User-Agent header
	defaultServer  = "http://127.0.0.1:8080"
	requestTimeout = 30 * time.Second
	api            = "/api/v1"
	maxAnswer      = 96 << 20 // bytes: 1,000 items of a queue with the largest payloads
)

// client calls the API of a server.
type client struct {
	base   string // without a trailing slash
	http   *http.Client
	header http.Header // additional headers of each request
	token  string      // the bearer token; "" = none
	bad    error       // the error of reading the token file or the CA file; each request returns it
}

func (c *command) client() *client {
	server := cmp.Or(c.server, c.getenv("TALLYMAN_SERVER"), defaultServer)
	if !strings.Contains(server, "://") {
		server = "http://" + server
	}
	token, badToken := c.token()
	caller, badFile := c.httpClient(requestTimeout)
	return &client{base: strings.TrimRight(server, "/"), http: caller, token: token, bad: cmp.Or(badToken, badFile)}
}

// repeatable returns a client that sends the idempotency key with a request. The empty key sends none.
func (c *command) repeatable(key string) *client {
	cl := c.client()
	if key != "" {
		cl.header = http.Header{"Idempotency-Key": {key}}
	}
	return cl
}

// readAtMost reads everything. readAtMost returns an error if there are more than most bytes, and never cuts off
// silently.
func readAtMost(from io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(from, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("there are more than %d bytes", most)
	}
	return b, err
}

// maxTokenFile is the largest size of a token file, in bytes.
const maxTokenFile = 64 << 10

// token returns the token in the file of --token-file, or without this flag the token in $TALLYMAN_TOKEN. No flag takes
// the token itself, because other users of the machine can see command lines.
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

// show makes a request and prints the answer. Programs get the answer unchanged. For people, write prints the decoded
// form.
func show[T any](ctx context.Context, c *command, method, path string, body any, write func(w io.Writer, form *T)) error {
	var form T
	raw, err := c.client().ask(ctx, method, path, body, &form)
	if err != nil {
		return err
	}
	return c.print(raw, func(w io.Writer) { write(w, &form) })
}

// pages requests every page of a list. take stores the entries of a page and returns the cursor of the next page. The
// empty cursor ends the list.
func pages[T any](ctx context.Context, c *client, path string, query url.Values, take func(page *T) (cursor string)) error {
	query.Set("limit", "1000")
	for {
		var page T
		if err := c.do(ctx, http.MethodGet, withQuery(path, query), nil, &page); err != nil {
			return err
		}
		cursor := take(&page)
		if cursor == "" {
			return nil
		}
		query.Set("after", cursor)
	}
}

// ask makes a request below /api/v1. ask decodes the answer into form, and also returns the unchanged answer.
func (c *client) ask(ctx context.Context, method, path string, body, form any) (json.RawMessage, error) {
	return c.askPath(ctx, method, api+path, body, form)
}

// askPath is ask for any path of the server, not only for a path below /api/v1.
func (c *client) askPath(ctx context.Context, method, path string, body, form any) (json.RawMessage, error) {
	var raw json.RawMessage
	if err := c.doPath(ctx, method, path, body, &raw); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, form); err != nil {
		return nil, c.strange(err)
	}
	return raw, nil
}

// do makes one request below /api/v1 and decodes the answer.
func (c *client) do(ctx context.Context, method, path string, body, answer any) error {
	return c.doPath(ctx, method, api+path, body, answer)
}

// doPath is do for any path of the server, not only for a path below /api/v1.
func (c *client) doPath(ctx context.Context, method, path string, body, answer any) error {
	var payload io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		payload = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, payload)
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

// queryOf returns a query with these values. queryOf leaves out empty values.
func queryOf(values map[string]string) url.Values {
	query := url.Values{}
	for name, value := range values {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// withQuery appends a query to a path.
func withQuery(path string, query url.Values) string {
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// namesServer tells whether a flag says that the command calls a server. A configuration needs neither --token-file nor
// --ca-file, so these flags mean a server, too.
func (c *command) namesServer() bool { return cmp.Or(c.server, c.tokenFile, c.caFile) != "" }

// asksServer tells whether a command calls a server. Otherwise the command reads the configuration. --config and --set
// win over TALLYMAN_SERVER. Flags of both kinds together are an error.
func (c *command) asksServer() (bool, error) {
	local := c.config != "" || len(c.set) > 0
	if local && c.namesServer() {
		return false, usage("--server, --token-file and --ca-file ask a server; --config and --set read a configuration: give flags of one kind only")
	}
	return c.namesServer() || !local && c.getenv("TALLYMAN_SERVER") != "", nil
}

// withServer adds the flags of commands that call a server.
func (c *command) withServer(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&c.server, "server", "", "the server's address (default $TALLYMAN_SERVER, or "+defaultServer+")")
	cmd.Flags().StringVar(&c.tokenFile, "token-file", "", "the file that holds the token to call with (default the token in $TALLYMAN_TOKEN)")
	cmd.Flags().StringVar(&c.caFile, "ca-file", "", "the certificate file of an authority to trust besides the system's (default $TALLYMAN_CA_FILE)")
	return cmd
}

// httpClient returns an HTTP client with the timeout. The client trusts the authority of --ca-file in addition to the
// system's authorities. It follows no redirect to another server, because the token is for the named server only.
func (c *command) httpClient(timeout time.Duration) (*http.Client, error) {
	h := &http.Client{Timeout: timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	file := cmp.Or(c.caFile, c.getenv("TALLYMAN_CA_FILE"))
	if file == "" {
		return h, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return h, usage("--ca-file: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return h, fmt.Errorf("the system's certificates: %w", err)
	}
	if !pool.AppendCertsFromPEM(pem) {
		return h, usage("--ca-file: there is no certificate in %s", file)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	h.Transport = transport
	return h, nil
}

// unanswered returns the error of a request without an answer, with advice.
func (c *client) unanswered(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok { // The text of err repeats the whole URL.
		err = wrapped.Err
	}
	next := "is it the address of a Tallyman server (--server or TALLYMAN_SERVER)?"
	var stranger x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		next = "is tallyman serve running there?"
	case errors.As(err, &stranger):
		next = "name the file of the authority that has signed its certificate with --ca-file"
	case errors.As(err, &name):
		next = "use a name that is in the certificate of the server"
	case strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		next = "it speaks plain HTTP: write http:// before its address"
	case os.IsTimeout(err):
		next = "the server may be busy, or something on the way drops requests"
	}
	return unreachable(fmt.Errorf("no answer from %s: %w; %s", c.base, err, next))
}

// strange returns the error of an answer that cannot come from Tallyman.
func (c *client) strange(err error) error {
	return unreachable(fmt.Errorf("%s does not answer as Tallyman does: %w; is this the address of another server?", c.base, err))
}

// foreign returns the error of an answer that is a web page, or a refusal that is not in the problem format of
// Tallyman.
func (c *client) foreign(res *http.Response, body []byte) error {
	what := fmt.Sprintf("%s answers %d %s", c.base, res.StatusCode, http.StatusText(res.StatusCode))
	next := "which is not an answer of Tallyman: is this the address of another server, or of a proxy?"
	switch {
	case res.Header.Get("Location") != "":
		next = "and leads to " + res.Header.Get("Location") + ": give the address of that server, if it is Tallyman"
	case strings.Contains(string(body), "HTTPS server"):
		next = "because the server speaks TLS: write https:// before the address"
	case isPage(res):
		next = "with a web page, which is not an answer of Tallyman: is this the address of another server, or of a proxy with a login?"
	}
	return unreachable(fmt.Errorf("%s, %s", what, next))
}

// isPage tells whether the answer is an HTML page.
func isPage(res *http.Response) bool {
	return strings.HasPrefix(res.Header.Get("Content-Type"), "text/html")
}

// whatNext has advice for the caller, by the code of the problem. Other problems bring their own advice.
var whatNext = map[wire.Code]string{
	wire.CodeMissingParameter: "set the flag with that name",
	wire.CodeTokenMissing:     "name its file with --token-file, or set TALLYMAN_TOKEN",
	wire.CodeTokenInvalid:     "it may be a token of another server; `tallyman tokens list` lists the tokens",
	wire.CodeTokenExpired:     "`tallyman tokens create` makes another one",
	wire.CodeTokenRevoked:     "`tallyman tokens create` makes another one",
	wire.CodeTokenIsCallers:   "--force revokes the token all the same",
	wire.CodeTokenLastAdmin:   "`tallyman tokens create` makes another one; --force revokes the token all the same",
	wire.CodeRoleMissing:      "use a token that has this role (--token-file)",
	wire.CodeNotFound:         "the server may be older than this program: `tallyman version` and `tallyman status` show both versions",
	wire.CodeBadHost:          "call it by localhost or 127.0.0.1, on the machine where it runs",
}

// refused returns the answer of the server as an error, with the text of the problem if Tallyman has answered.
func (c *client) refused(res *http.Response, body []byte) error {
	var p wire.Problem
	if json.Unmarshal(body, &p) != nil || p.Code == "" {
		return c.foreign(res, body)
	}
	err := problemError(&p)
	if res.StatusCode >= http.StatusInternalServerError || res.StatusCode == http.StatusTooManyRequests {
		return unreachable(err)
	}
	return err
}

// problemError returns the problem as an error, with advice for the caller.
func problemError(p *wire.Problem) *refusedError {
	err := fmt.Errorf("%s: %s", p.Code, p.Detail)
	for _, f := range p.Errors[min(1, len(p.Errors)):] { // The detail repeats the first error.
		err = fmt.Errorf("%w\n  %s: %s", err, f.Location, f.Message)
	}
	if next := whatNext[p.Code]; next != "" {
		err = fmt.Errorf("%w; %s", err, next)
	}
	return &refusedError{p.Code, err}
}

// refusedError is the problem with which the server refused a request.
type refusedError struct {
	code wire.Code
	err  error
}

func (r *refusedError) Error() string { return r.err.Error() }

func (r *refusedError) Unwrap() error { return r.err }

// hasCode tells whether err is a refusal of the server with this code.
func hasCode(err error, code wire.Code) bool {
	r, ok := errors.AsType[*refusedError](err)
	return ok && r.code == code
}
