package cli

import (
	"os"

	"github.com/spf13/cobra"

	"tallyman/internal/auth"
	"tallyman/internal/cli/terminal"
	"tallyman/internal/config"
	"tallyman/internal/logging"
)

// nodeCommands are the commands that run a node or read its configuration.
type nodeCommands struct{ *command }

func (c nodeCommands) serve() *cobra.Command {
	var migrate bool
	cmd := c.withConfig(&cobra.Command{
		Use:   "serve",
		Short: "Run a node: the rules, the delivery of notices and the API",
		Example: `  tallyman serve --config site.yaml
  tallyman serve --log-level debug --set http.listen=127.0.0.1:8081`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.checkLogFlags(); err != nil {
				return err
			}
			cfg, err := c.loadConfig()
			if err != nil {
				return err
			}
			level, _ := logging.ParseLevel(cfg.Telemetry.Log.Level) // The configuration was checked, so its level is valid.
			logger, live := logging.New(c.Err, cfg.Telemetry.Log.Format, level)
			return c.services.Serve(cmd.Context(), cfg, ServeOptions{
				Hangup: c.hangup(),
				Logger: logger, LogLevel: live, Version: buildVersion().Version, Migrate: migrate,
				Out:   c.Out,
				Ready: func(address string) { logger.Info("Listening on", "url", cfg.HTTP.Scheme()+"://"+address) },
			})
		},
	})
	cmd.Flags().StringVar(&c.listen, "listen", "", "host:port of the API; wins over http.listen")
	cmd.Flags().BoolVar(&migrate, "migrate", false, "apply the steps of the ledger's schema that this version needs (always done for SQLite)")
	cmd.Flags().StringVar(&c.logLevel, "log-level", "", "debug, info, warn or error; wins over telemetry.log.level")
	cmd.Flags().StringVar(&c.logFormat, "log-format", "", "text or json; wins over telemetry.log.format")
	return cmd
}

// checkLogFlags checks the values of the log flags.
func (c *command) checkLogFlags() error {
	if _, ok := logging.ParseLevel(c.logLevel); !ok && c.logLevel != "" {
		return usage("--log-level takes debug, info, warn or error, not %q", c.logLevel)
	}
	switch c.logFormat {
	case "", config.LogText, config.LogJSON:
		return nil
	}
	return usage("--log-format takes text or json, not %q", c.logFormat)
}

// hangup returns the channel of the signals after which the node reads the rule files again.
func (c *command) hangup() <-chan os.Signal {
	if c.Hangup == nil {
		return nil
	}
	return c.Hangup()
}

func (c nodeCommands) demo() *cobra.Command {
	o := DemoOptions{Version: buildVersion().Version, Out: c.Out, Color: terminal.Is(c.Out) && c.getenv("NO_COLOR") == ""}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run everything on a simulated warehouse; needs no other server",
		Example: `  tallyman demo
  tallyman demo --for 30s --speed 1200`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Speed <= 0 {
				return usage("--speed must be more than 0")
			}
			if o.For < 0 {
				return usage("--for must not be negative")
			}
			if o.Workers < 0 || o.Workers > mostForklifts {
				return usage("--workers must be 0 to %d", mostForklifts)
			}
			if err := auth.CheckListen(o.Listen); err != nil {
				return usage("--listen takes host:port on a loopback address, such as 127.0.0.1:8081, not %q", o.Listen)
			}
			return c.services.Demo(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.Listen, "listen", "127.0.0.1:8080", "host:port of the API")
	cmd.Flags().Uint64Var(&o.Seed, "seed", 1, "the same seed makes the same warehouse")
	cmd.Flags().Float64Var(&o.Speed, "speed", 60, "how many times faster than real time the warehouse lives")
	cmd.Flags().DurationVar(&o.For, "for", 0, "stop after this long, such as 30s, and print what was found (default: until Ctrl-C)")
	cmd.Flags().BoolVar(&o.Browse, "browse", terminal.Is(c.Out), "open the console in a browser, if this machine has a screen")
	cmd.Flags().IntVar(&o.Workers, "workers", 3, "forklifts that take refills from the queue; 0 leaves its items to you")
	return cmd
}

// mostForklifts is the limit of --workers in the demo.
const mostForklifts = 50
