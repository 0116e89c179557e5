package cli

import (
	"context"
	"errors"

	"tallyman/engine/trial/preview"
	"tallyman/engine/trial/rulediff"
	"tallyman/engine/trial/ruletest"
	"tallyman/internal/app"
	"tallyman/internal/config"
	"tallyman/internal/demo"
	"tallyman/scanners"
)

// Default is the program's own services.
func Default() Services {
	return Services{
		Serve:         runNode,
		Migrate:       app.Migrate,
		MigrateStatus: app.MigrateStatus,
		CheckRules:    app.CheckRules,
		CheckSources:  app.CheckSources,
		OpenRuleMaker: func(ctx context.Context, cfg *config.Config, source string) (*app.RuleMaker, error) {
			m, err := app.OpenRuleMaker(ctx, cfg, source)
			return m, siteError(err)
		},
		PreviewRule: func(ctx context.Context, cfg *config.Config, o PreviewOptions) (*preview.Preview, error) {
			p, err := app.PreviewRule(ctx, cfg, app.PreviewOptions(o))
			return p, siteError(err)
		},
		DiffRules: func(ctx context.Context, cfg *config.Config, o DiffOptions) (*rulediff.Diff, error) {
			d, err := app.DiffRules(ctx, cfg, app.DiffOptions(o))
			return d, siteError(err)
		},
		TestRules: func(ctx context.Context, cfg *config.Config, o RuleTestOptions) (*ruletest.Report, error) {
			r, err := app.TestRules(ctx, cfg, app.RuleTests(o))
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
	var wrong *app.UsageError
	var scan *scanners.Error
	switch {
	case errors.As(err, &wrong):
		return usage("%w", err)
	case errors.As(err, &scan) && scan.Transient:
		return unreachable(err)
	}
	return err
}
