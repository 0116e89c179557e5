package cli

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
)

func (c *command) serve() *cobra.Command {
	var level, format string
	var migrate bool
	cmd := c.withConfig(&cobra.Command{
		Use:   "serve",
		Short: "Run a node: the rules, the delivery of notices and the API",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			logger, err := c.logger(level, format)
			if err != nil {
				return err
			}
			cfg, err := c.loadConfig()
			if err != nil {
				return err
			}
			return c.services.Serve(cmd.Context(), cfg, ServeOptions{
				Hangup: c.hangup(),
				Logger: logger, Version: buildVersion().Version, Migrate: migrate,
				Out:   c.Out,
				Ready: func(address string) { fmt.Fprintf(c.Out, "Listening on %s://%s\n", cfg.HTTP.Scheme(), address) },
			})
		},
	})
	cmd.Flags().StringVar(&c.listen, "listen", "", "host:port of the API; wins over http.listen")
	cmd.Flags().BoolVar(&migrate, "migrate", false, "bring the ledger's schema up to date first (always done for SQLite)")
	cmd.Flags().StringVar(&level, "log-level", "info", "debug, info, warn or error")
	cmd.Flags().StringVar(&format, "log-format", "text", "text or json")
	return cmd
}

// logger writes to the error output, which is where a supervisor looks.
func (c *command) logger(level, format string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, usage("--log-level takes debug, info, warn or error, not %q", level)
	}
	options := &slog.HandlerOptions{Level: l}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(c.Err, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(c.Err, options)), nil
	}
	return nil, usage("--log-format takes text or json, not %q", format)
}

// hangup is where the signals come on which the rule files are read again.
func (c *command) hangup() <-chan os.Signal {
	if c.Hangup == nil {
		return nil
	}
	return c.Hangup()
}
