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
	CheckRules func(ctx context.Context, cfg *config.Config, o CheckOptions) (app.Checked, error)
	// CheckSources asks every source what its user may do beside reading.
	CheckSources func(ctx context.Context, cfg *config.Config) []app.SourceCheck
	// OpenRuleMaker opens a source to make a rule from one of its tables.
	OpenRuleMaker func(ctx context.Context, cfg *config.Config, source string) (*app.RuleMaker, error)
	// PreviewRule tries a rule on its source and writes nothing.
	PreviewRule func(ctx context.Context, cfg *config.Config, o PreviewOptions) (*preview.Preview, error)
	// DiffRules compares two versions of rule files; cfg is nil where they are not run.
	DiffRules func(ctx context.Context, cfg *config.Config, o DiffOptions) (*rulediff.Diff, error)
	// TestRules runs rule tests; cfg is nil where neither its types nor a source are asked for.
	TestRules func(ctx context.Context, cfg *config.Config, o RuleTestOptions) (*ruletest.Report, error)
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

// PreviewOptions says which rule is tried, and when.
type PreviewOptions struct {
	Paths  []string // rule files or folders; the configuration's own where nil
	Rule   string
	Scope  *string // may be nil where the rule has one scope
	At     string  // "" = now
	Source string  // instead of the rule's own
	Limit  int     // rows, findings and notices that are listed; 0 = all
}

// DiffOptions says which versions of the rules are compared, and how.
type DiffOptions struct {
	Old, New []string // rule files or folders
	Rule     string   // this one alone
	Scope    *string  // this one alone
	Run      bool     // run both versions, over one snapshot
	Source   string   // instead of the rules' own
	Limit    int      // keys of each kind; 0 = all
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

// CheckOptions says how far a check of rule files looks.
type CheckOptions = app.CheckOptions
