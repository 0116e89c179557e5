package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"

	"tallyman/engine/trial"
	"tallyman/internal/config"
	"tallyman/internal/ledger"
	"tallyman/internal/silence"
	"tallyman/rules/catalog"
)

// recalled is what is known of the site: by its ledger, or where none is in reach by its files.
type recalled struct {
	ledger ledger.View // nil where none is in reach
	reason string      // why
	cfg    *config.Config
	types  catalog.Catalog

	silences silence.Set
}

// recall opens the ledger for reading, beside a node that runs perhaps. Without one the files have to do.
func recall(ctx context.Context, cfg *config.Config) (*recalled, error) {
	types, problems := catalog.Load(cfg.Types.Path)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	maps.Copy(types, catalog.BuiltIn())
	known := &recalled{cfg: cfg, types: types}
	if err := cfg.Need("ledger"); err != nil {
		known.reason = reason(cfg.Ledger, err)
		return known, nil
	}
	view, err := OpenLedgerReadOnly(ctx, cfg.Ledger)
	if err != nil {
		known.reason = reason(cfg.Ledger, err)
		return known, ctx.Err()
	}
	known.ledger = view
	recorded, err := view.Types(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the types: %w", err), view.Close())
	}
	maps.Copy(known.types, recorded) // a node adds those of the file that the ledger does not have
	silences, err := view.Silences(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the silences: %w", err), view.Close())
	}
	known.silences.Replace(silences)
	return known, nil
}

// reason is why the ledger cannot be read, in a line.
func reason(cfg config.Ledger, err error) string {
	if _, gone := os.Stat(cfg.Path); cfg.Driver == config.SQLite && errors.Is(gone, fs.ErrNotExist) {
		return "there is no file " + cfg.Path
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	for _, prefix := range []string{"open the ledger for reading: ", "ledger: "} {
		line = strings.TrimPrefix(line, prefix)
	}
	return line
}

// recall returns the ledger as the engine's trials want it.
func (r *recalled) recall() trial.Ledger {
	if r.ledger == nil {
		return nil
	}
	return r.ledger
}

// Subscriptions returns those of the type: the ledger's, or those that a new ledger would begin with.
func (r *recalled) Subscriptions(ctx context.Context, typ string) ([]ledger.Subscription, error) {
	if r.ledger == nil {
		return seedOf(r.cfg, typ), nil
	}
	return r.ledger.Subscriptions(ctx, ledger.SubscriptionFilter{Type: typ})
}

// Close closes the ledger.
func (r *recalled) Close() error {
	if r.ledger == nil {
		return nil
	}
	if err := r.ledger.Close(); err != nil {
		return fmt.Errorf("close the ledger: %w", err)
	}
	return nil
}
