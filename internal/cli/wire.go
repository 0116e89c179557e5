package cli

import (
	"context"
	"errors"

	"tallyman/internal/app"
	"tallyman/internal/config"
	"tallyman/internal/demo"
)

// Default is the program's own services.
func Default() Services {
	return Services{
		Serve:         runNode,
		Migrate:       app.Migrate,
		MigrateStatus: app.MigrateStatus,
		CheckRules: func(cfg *config.Config, paths []string) RulesReport {
			return RulesReport(app.CheckRules(cfg, paths))
		},
		Demo: func(ctx context.Context, o DemoOptions) error {
			return demo.Run(ctx, demo.Options(o))
		},
	}
}

// runNode runs one node until ctx ends.
func runNode(ctx context.Context, cfg *config.Config, o ServeOptions) (err error) {
	app.LogRedisTo(o.Logger)
	node, err := app.New(ctx, cfg, app.Options{Logger: o.Logger, Version: o.Version, Migrate: o.Migrate})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Close()) }()
	o.Ready(node.Addr())
	return node.Run(ctx)
}
