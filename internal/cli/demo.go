package cli

import (
	"github.com/spf13/cobra"

	"tallyman/internal/auth"
	"tallyman/internal/cli/terminal"
)

func (c *command) demo() *cobra.Command {
	o := DemoOptions{Version: buildVersion().Version, Out: c.Out, Color: terminal.Is(c.Out) && c.getenv("NO_COLOR") == ""}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run everything on a simulated warehouse; needs no other server",
		Args:  cobra.NoArgs,
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

// mostForklifts is what the floor has room for.
const mostForklifts = 50
