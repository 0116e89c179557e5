package cli

import (
	"context"
	"io"
	"log/slog"
	"os"
	"time"

	"tallyman/engine/trial/preview"
	"tallyman/engine/trial/rulediff"
	"tallyman/engine/trial/ruletest"
	"tallyman/internal/app"
	"tallyman/internal/authoring"
	"tallyman/internal/config"
	"tallyman/internal/ledger"
)

// Services is what the local commands call.
type Services struct {
	// Serve runs a node until ctx ends.
	Serve func(ctx context.Context, cfg *config.Config, o ServeOptions) error
	// Migrate brings the ledger's schema up to date and returns the steps that were taken.
	Migrate func(ctx context.Context, cfg *config.Config) ([]ledger.Migration, error)
	// MigrateStatus returns every step, the pending ones without a time.
	MigrateStatus func(ctx context.Context, cfg *config.Config) ([]ledger.Migration, error)
	// CheckRules checks rule files; without cfg, what needs no source, sink or type.
	CheckRules func(ctx context.Context, cfg *config.Config, o authoring.CheckOptions) (authoring.Checked, error)
	// CheckSources asks every source what its user may do beside reading.
	CheckSources func(ctx context.Context, cfg *config.Config) []app.SourceCheck
	// OpenRuleMaker opens a source to make a rule from one of its tables.
	OpenRuleMaker func(ctx context.Context, cfg *config.Config, source string) (*authoring.RuleMaker, error)
	// PreviewRule tries a rule on its source and writes nothing.
	PreviewRule func(ctx context.Context, cfg *config.Config, o authoring.PreviewOptions) (*preview.Preview, error)
	// DiffRules compares two versions of rule files; cfg is nil where they are not run.
	DiffRules func(ctx context.Context, cfg *config.Config, o authoring.DiffOptions) (*rulediff.Diff, error)
	// TestRules runs rule tests; cfg is nil where neither its types nor a source are asked for.
	TestRules func(ctx context.Context, cfg *config.Config, o authoring.TestOptions) (*ruletest.Report, error)
	// OpenTokens opens the configured ledger for its tokens alone; ledger.ErrInUse while a server has it.
	OpenTokens func(ctx context.Context, cfg *config.Config) (TokenLedger, error)
	// Demo runs the simulated warehouse until ctx ends or o.For is over.
	Demo func(ctx context.Context, o DemoOptions) error
}

// ServeOptions is what a node gets beside its configuration.
type ServeOptions struct {
	Logger  *slog.Logger
	Version string
	Migrate bool                 // bring the schema of a shared ledger up to date first
	Ready   func(address string) // called once it listens
	Out     io.Writer            // of sinks of type stdout
	Hangup  <-chan os.Signal     // has the rule files read again; nil = nothing does
}

// DemoOptions says how the demo runs.
type DemoOptions struct {
	Listen  string
	Seed    uint64
	Speed   float64       // how many times faster than real time the warehouse lives
	For     time.Duration // 0 = until it is stopped
	Workers int           // that take work from the queue
	Version string
	Out     io.Writer
	Color   bool
	Browse  bool // open the console in a browser
}
