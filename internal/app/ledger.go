package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tallyman/engine"
	"tallyman/internal/authoring"
	"tallyman/internal/config"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/commits"
	"tallyman/internal/ledger/postgres"
	"tallyman/internal/ledger/sqlite"
	"tallyman/rules/catalog"
)

// openLedger opens the node's ledger, and watches its commits.
func (a *App) openLedger(ctx context.Context) error {
	opened, err := openLedger(ctx, a.cfg.Ledger, a.opts.Clock, a.nodeTime, a.opts.Version, a.opts.Migrate)
	if err != nil {
		return err
	}
	a.commits = commits.New(commits.Options{Ledger: opened, Refused: a.meter.CommitRefused, Logger: a.log})
	a.ledger = commits.Follow(opened, a.commits)
	return nil
}

// openLedger opens a ledger. An SQLite file belongs to this node alone: its schema is always brought up to date, and
// its clock is this machine's. The schema of a PostgreSQL ledger is brought up to date only if migrate is true.
// nodeTime returns the time that the node goes by; nil means the ledger's clock. version is the version of this
// program.
func openLedger(ctx context.Context, cfg config.Ledger, clock engine.Clock, nodeTime func() time.Time, version string, migrate bool) (ledger.Ledger, error) {
	if migrate || cfg.Driver == config.SQLite {
		if _, err := migrateLedger(ctx, cfg, MigrateOptions{Version: version, Expand: true}); err != nil {
			return nil, err
		}
	}
	var l ledger.Ledger
	var err error
	switch cfg.Driver {
	case config.SQLite:
		l, err = sqlite.Open(ctx, cfg.Path, ledger.Options{Now: clock.Now, NodeTime: nodeTime})
	case config.Postgres:
		l, err = postgres.Open(ctx, cfg.URL.Reveal(), ledger.Options{NodeTime: nodeTime})
	default:
		return nil, fmt.Errorf("ledger.url: there is no driver %q", cfg.Driver)
	}
	if err != nil {
		return nil, explain("open the ledger", err)
	}
	return l, nil
}

// OpenLedgerReadOnly opens the configured ledger for reading only. Nodes may have the ledger open at the same time. It
// makes and changes nothing. A ledger that does not exist, or has another version of the schema, gives
// ledger.ErrSchema.
func OpenLedgerReadOnly(ctx context.Context, cfg config.Ledger) (ledger.View, error) {
	return openForReading(ctx, cfg)
}

// openForReading is OpenLedgerReadOnly, but it returns the whole interface ledger.Ledger. Every write of the ledger
// fails.
func openForReading(ctx context.Context, cfg config.Ledger) (ledger.Ledger, error) {
	var l ledger.Ledger
	var err error
	switch cfg.Driver {
	case config.SQLite:
		l, err = sqlite.OpenReadOnly(ctx, cfg.Path, ledger.Options{})
	case config.Postgres:
		l, err = postgres.OpenReadOnly(ctx, cfg.URL.Reveal(), ledger.Options{})
	default:
		return nil, fmt.Errorf("ledger.url: there is no driver %q", cfg.Driver)
	}
	if err != nil {
		return nil, explain("open the ledger for reading", err)
	}
	return l, nil
}

// MigrateOptions says which steps Migrate applies.
type MigrateOptions struct {
	Version string // The version of this program.
	Expand  bool   // Leave out the contract steps that this program can do without.
	Force   bool   // Apply contract steps also while nodes of other versions live.
}

// Migrate brings the schema of the configured ledger to this program's version. Migrate returns the steps that it
// applied. Without o.Force, the error is ledger.ErrOldNodes where a contract step is pending and a node of another
// version lives.
func Migrate(ctx context.Context, cfg *config.Config, o MigrateOptions) ([]ledger.Migration, error) {
	return migrateLedger(ctx, cfg.Ledger, o)
}

func migrateLedger(ctx context.Context, cfg config.Ledger, o MigrateOptions) ([]ledger.Migration, error) {
	if !o.Force {
		if err := checkOldNodes(ctx, cfg, o); err != nil {
			return nil, explain("bring the ledger's schema up to date", err)
		}
	}
	file, server := sqlite.Migrate, postgres.Migrate
	if o.Expand {
		file, server = sqlite.Expand, postgres.Expand
	}
	var done []ledger.Migration
	var err error
	if cfg.Driver == config.SQLite {
		done, err = file(ctx, cfg.Path)
	} else {
		done, err = server(ctx, cfg.URL.Reveal())
	}
	return done, explain("bring the ledger's schema up to date", err)
}

// checkOldNodes returns ledger.ErrOldNodes where a contract step is pending and a node of another version lives. The
// ledger does not know which schema another version needs, so every node of another version counts.
func checkOldNodes(ctx context.Context, cfg config.Ledger, o MigrateOptions) error {
	steps, err := migrateStatus(ctx, cfg)
	if err != nil {
		return err
	}
	var contract []ledger.Migration
	for _, step := range ledger.Pending(steps, o.Expand) {
		if step.Phase == ledger.Contract {
			contract = append(contract, step)
		}
	}
	if len(contract) == 0 {
		return nil
	}
	nodes, err := otherNodes(ctx, cfg, o.Version)
	if err != nil || len(nodes) == 0 {
		return err
	}
	return oldNodes(contract[0].Version, nodes)
}

// oldNodes returns an ErrOldNodes that names the step and the live nodes of other versions.
func oldNodes(step int64, nodes []ledger.Node) error {
	list := make([]string, len(nodes))
	for i := range nodes {
		list[i] = fmt.Sprintf("node %s runs version %s", nodes[i].Name, nodes[i].Version)
	}
	return fmt.Errorf("%w (contract step %d; %s)", ledger.ErrOldNodes, step, strings.Join(list, ", "))
}

// OtherNodes returns name and version of the live nodes that run another version of the program, by name. With SQLite
// there are none: one process has the file.
func OtherNodes(ctx context.Context, cfg *config.Config, version string) ([]ledger.Node, error) {
	return otherNodes(ctx, cfg.Ledger, version)
}

func otherNodes(ctx context.Context, cfg config.Ledger, version string) ([]ledger.Node, error) {
	if cfg.Driver == config.SQLite {
		return nil, nil
	}
	nodes, err := postgres.LiveNodes(ctx, cfg.URL.Reveal())
	if err != nil {
		return nil, explain("read the live nodes from the ledger", err)
	}
	return slices.DeleteFunc(nodes, func(n ledger.Node) bool { return n.Version == version }), nil
}

// MigrateStatus returns every migration of the schema. A pending migration has no time.
func MigrateStatus(ctx context.Context, cfg *config.Config) ([]ledger.Migration, error) {
	steps, err := migrateStatus(ctx, cfg.Ledger)
	return steps, explain("read the ledger's schema", err)
}

func migrateStatus(ctx context.Context, cfg config.Ledger) ([]ledger.Migration, error) {
	if cfg.Driver == config.SQLite {
		return sqlite.Status(ctx, cfg.Path)
	}
	return postgres.Status(ctx, cfg.URL.Reveal())
}

// readSchema takes the node out of service where a contract step has removed what this program needs. The node then
// begins nothing more on tables that it does not know.
func (a *App) readSchema(ctx context.Context) error {
	err := a.ledger.CheckSchema(ctx)
	if errors.Is(err, ledger.ErrNewer) {
		a.log.Error("A newer version has removed what this node needs from the ledger. The node drains; replace it by the newer version.", "error", err)
		a.drain.exclude(err)
		return nil
	}
	return err
}

// explain adds to an error what the node was doing. For ErrInUse it also adds what to do.
func explain(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ledger.ErrInUse):
		return fmt.Errorf("%s: %w; stop the other process, or put the ledger into PostgreSQL (ledger.url) to run several nodes", doing, err)
	default:
		return fmt.Errorf("%s: %w", doing, err)
	}
}

// OpenTokens opens the configured ledger to manage its tokens. OpenTokens creates the SQLite file if the file does not
// exist.
func OpenTokens(ctx context.Context, cfg *config.Config) (ledger.Ledger, error) {
	return openLedger(ctx, cfg.Ledger, engine.SystemClock{}, nil, "", false)
}

// seed adds to the ledger the types of the file and the built-in types that the ledger does not have. If the ledger has
// never had subscriptions, seed adds the subscriptions of the configuration. seed does not change what the ledger has
// already, because somebody may have changed that through the API.
func (a *App) seed(ctx context.Context) error {
	types, problems := catalog.Load(a.cfg.Types.Path, catalog.OnSinks(authoring.Sinks(a.cfg)))
	if err := problems.Err(); err != nil {
		return fmt.Errorf("the type catalogue (types.path) has faults:\n%w", err)
	}
	maps.Copy(types, catalog.BuiltIn())
	added, err := a.ledger.SeedTypes(ctx, nodeAuthor(a.opts.Node, ledger.ViaStart), types)
	if err != nil {
		return fmt.Errorf("seed the types: %w", err)
	}
	if added > 0 {
		a.log.Info("Types were added to the ledger.", "count", added, "file", a.cfg.Types.Path)
	}
	subs := make([]ledger.Subscription, len(a.cfg.Subscriptions.Seed))
	for i, s := range a.cfg.Subscriptions.Seed {
		subs[i] = ledger.Subscription{Type: s.Type, Warehouse: s.Warehouse, Subscriber: s.Subscriber}
	}
	if added, err = a.ledger.SeedSubscriptions(ctx, nodeAuthor(a.opts.Node, ledger.ViaStart), subs); err != nil {
		return fmt.Errorf("seed the subscriptions: %w", err)
	}
	if added > 0 {
		a.log.Info("Subscriptions were added to the ledger.", "count", added)
	}
	return nil
}
