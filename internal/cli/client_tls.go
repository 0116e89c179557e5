package cli

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"time"
)

// httpClient calls within the timeout, and trusts the authority of --ca-file besides the system's. It follows nobody elsewhere: the token is
// for the server that was named.
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
