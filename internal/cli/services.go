package cli

import (
	"context"
	"io"
	"log/slog"
	"time"

	"tallyman/internal/config"
	"tallyman/internal/ledger"
	"tallyman/rules/problem"
)

// Services is what the local commands call.
type Services struct {
	// Serve runs a node until ctx ends.
	Serve func(ctx context.Context, cfg *config.Config, o ServeOptions) error
	// Migrate brings the ledger's schema up to date and returns the steps that were taken.
	Migrate func(ctx context.Context, cfg *config.Config) ([]ledger.Migration, error)
	// MigrateStatus returns every step, the pending ones without a time.
	MigrateStatus func(ctx context.Context, cfg *config.Config) ([]ledger.Migration, error)
	// CheckRules checks the rules files at the paths; without cfg, what needs no source, sink or type.
	CheckRules func(cfg *config.Config, paths []string) RulesReport
	// Demo runs the simulated warehouse until ctx ends or o.For is over.
	Demo func(ctx context.Context, o DemoOptions) error
}

// ServeOptions is what a node gets beside its configuration.
type ServeOptions struct {
	Logger  *slog.Logger
	Version string
	Migrate bool                 // bring the schema of a shared ledger up to date first
	Ready   func(address string) // called once it listens
}

// DemoOptions says how the demo runs.
type DemoOptions struct {
	Listen  string
	Seed    uint64
	Speed   float64       // how many times faster than real time the warehouse lives
	For     time.Duration // 0 = until it is stopped
	Version string
	Out     io.Writer
	Color   bool
}

// RulesReport is what a check of rules files found.
type RulesReport struct {
	Files    int          `json:"files"`
	Rules    int          `json:"rules"` // sound ones, each scope counted
	Problems problem.List `json:"problems"`
}
