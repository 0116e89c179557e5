package app

import (
	"cmp"
	"io"
	"log/slog"
	"os"
	"time"

	"tallyman/engine"
	"tallyman/internal/config"
	"tallyman/internal/systemd"
)

// Options are the settings of a node that the process gives in addition to the configuration.
type Options struct {
	Logger   *slog.Logger
	LogLevel *slog.LevelVar // The level of the Logger, which operators change. Default: a level that changes nothing.
	Version  string         // The version of the program.
	Node     string         // The name of this node. Default: node.name of the configuration, or else the host name.
	Clock    engine.Clock   // The clock of the machine. Nodes with a PostgreSQL ledger go by the ledger's clock instead.
	Migrate  bool           // Bring the schema of the ledger up to date. An SQLite ledger is always brought up to date.
	Step     func(string)   // See engine.Options.Step and push.Options.Step.
	Stdout   io.Writer      // The output of sinks of type stdout. Default: os.Stdout.

	Hangup  <-chan os.Signal // A signal makes the node read the rule files again. Nil means that no signal does.
	Manager *systemd.Manager // The service manager. Default: systemd, if the environment names its socket.

	QueueNow func() time.Time // See queue.Options.Now. For tests alone.

	// Lease is the length of the leases of the session, of firings and of lanes. Zero means node.lease of the
	// configuration for the session, and the engine's default for the others.
	Lease     time.Duration
	StopGrace time.Duration // How long a stop waits for runs and deliveries. Zero means the engine's default.
}

func (o Options) withDefaults(cfg *config.Config) Options {
	o.Version = cmp.Or(o.Version, "dev")
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Manager == nil {
		o.Manager = systemd.Open(o.Logger)
	}
	if o.LogLevel == nil {
		o.LogLevel = new(slog.LevelVar)
	}
	if o.Clock == nil {
		o.Clock = engine.SystemClock{}
	}
	if o.Stdout == nil {
		o.Stdout = os.Stdout
	}
	o.Node = cmp.Or(o.Node, cfg.Node.Name, hostName())
	return o
}
