package cli

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// healthAnswer is the answer of /healthz and of /readyz.
type healthAnswer struct {
	Status string   `json:"status"` // alive or ready
	Unwell []string `json:"unwell"` // parts that are not well while the node is ready
}

func (c nodeCommands) health() *cobra.Command {
	var ready bool
	var timeout time.Duration
	cmd := c.withServer(c.withConfig(&cobra.Command{
		Use:   "health",
		Short: "Ask the node of this machine whether it lives; exit code 3 if the node does not answer that it is alive",
		Long: `Ask a node whether it lives (/healthz), or whether it can do its work (--ready: /readyz). Health checks of containers and scripts call this command.

Without --server and TALLYMAN_SERVER the command asks the node of the configuration: http.listen says where, and http.tls says whether with TLS. The command then accepts
any certificate, because the command calls its own machine and sends no token.`,
		Example: `  tallyman health --config site.yaml
  tallyman health --ready --server https://wms-2:8080`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if timeout <= 0 {
				return usage("--timeout must be more than 0s")
			}
			cl, err := c.healthClient()
			if err != nil {
				return err
			}
			cl.http.Timeout = timeout
			path := "/healthz"
			if ready {
				path = "/readyz"
			}
			var form healthAnswer
			raw, err := cl.askPath(cmd.Context(), http.MethodGet, path, nil, &form)
			if err != nil {
				return err
			}
			return c.print(raw, func(w io.Writer) {
				fmt.Fprintf(w, "%s is %s.\n", cl.base, form.Status)
				if len(form.Unwell) > 0 {
					fmt.Fprintf(w, "Not well: %s\n", strings.Join(form.Unwell, "; "))
				}
			})
		},
	}))
	cmd.Flags().BoolVar(&ready, "ready", false, "ask whether the node can do its work")
	cmd.Flags().DurationVar(&timeout, "timeout", 3*time.Second, "how long the node has to answer")
	return cmd
}

// healthClient returns a client for the named server, or else for the node of the configuration.
func (c nodeCommands) healthClient() (*client, error) {
	remote, err := c.asksServer()
	if err != nil {
		return nil, err
	}
	if remote {
		return c.client(), nil
	}
	cfg, err := c.lazyConfig()
	if err != nil {
		return nil, err
	}
	address, ok := cfg.HTTP.OwnURL()
	if !ok {
		return nil, usage("http.listen is %q, which does not say the port; name the server with --server", cfg.HTTP.Listen)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true} //nolint:gosec // The certificate has the node's name, not the loopback address. The request has no secret.
	return &client{base: address, http: &http.Client{Transport: transport}}, nil
}
