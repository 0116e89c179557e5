package cli

import (
	"context"
	"errors"

	"tallyman/engine/trial/preview"
	"tallyman/engine/trial/rulediff"
	"tallyman/engine/trial/ruletest"
	"tallyman/internal/app"
	"tallyman/internal/authoring"
	"tallyman/internal/config"
	"tallyman/internal/demo"
	"tallyman/scanners"
)

// Default is the program's own services.
func Default() Services {
	commands := app.Authoring()
	return Services{
		Serve:         runNode,
		Migrate:       app.Migrate,
		MigrateStatus: app.MigrateStatus,
		CheckRules:    commands.Check,
		CheckSources:  app.CheckSources,
		OpenRuleMaker: func(ctx context.Context, cfg *config.Config, source string) (*authoring.RuleMaker, error) {
			m, err := commands.OpenRuleMaker(ctx, cfg, source)
			return m, siteError(err)
		},
		PreviewRule: func(ctx context.Context, cfg *config.Config, o authoring.PreviewOptions) (*preview.Preview, error) {
			p, err := commands.Preview(ctx, cfg, o)
			return p, siteError(err)
		},
		DiffRules: func(ctx context.Context, cfg *config.Config, o authoring.DiffOptions) (*rulediff.Diff, error) {
			d, err := commands.Diff(ctx, cfg, o)
			return d, siteError(err)
		},
		TestRules: func(ctx context.Context, cfg *config.Config, o authoring.TestOptions) (*ruletest.Report, error) {
			r, err := commands.Test(ctx, cfg, o)
			return r, siteError(err)
		},
		OpenTokens: func(ctx context.Context, cfg *config.Config) (TokenLedger, error) { return app.OpenTokens(ctx, cfg) },
		Demo: func(ctx context.Context, o DemoOptions) error {
			return demo.Run(ctx, demo.Options(o))
		},
	}
}

// runNode runs one node until ctx ends.
func runNode(ctx context.Context, cfg *config.Config, o ServeOptions) (err error) {
	app.LogRedisTo(o.Logger)
	defer app.SpareHeap()()
	node, err := app.New(ctx, cfg, app.Options{Logger: o.Logger, Version: o.Version, Migrate: o.Migrate, Stdout: o.Out, Hangup: o.Hangup})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Close()) }() //nolint:contextcheck // what is given back must not depend on a context that may be over
	o.Ready(node.Addr())
	return node.Run(ctx)
}

// siteError gives an error of a command that asks the site its exit code.
func siteError(err error) error {
	var wrong *authoring.UsageError
	var scan *scanners.Error
	switch {
	case errors.As(err, &wrong):
		return usage("%w", err)
	case errors.As(err, &scan) && scan.Transient:
		return unreachable(err)
	}
	return err
}
