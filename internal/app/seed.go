package app

import (
	"context"
	"fmt"
	"maps"

	"tallyman/internal/ledger"
	"tallyman/rules/catalog"
)

// seed gives a ledger the types and subscriptions of the files, and the built-in types. What the ledger has already was changed through the
// API perhaps, and stays as it is.
func (a *App) seed(ctx context.Context) error {
	types, problems := catalog.Load(a.cfg.Types.Path)
	if err := problems.Err(); err != nil {
		return fmt.Errorf("the type catalogue (types.path) has faults:\n%w", err)
	}
	maps.Copy(types, catalog.BuiltIn())
	added, err := a.ledger.SeedTypes(ctx, a.author(ledger.ViaStart), types)
	if err != nil {
		return fmt.Errorf("seed the types: %w", err)
	}
	if added > 0 {
		a.log.Info("types added to the ledger", "count", added, "file", a.cfg.Types.Path)
	}
	subs := make([]ledger.Subscription, len(a.cfg.Subscriptions))
	for i, s := range a.cfg.Subscriptions {
		subs[i] = ledger.Subscription{Type: s.Type, Warehouse: s.Warehouse, Subscriber: s.Subscriber}
	}
	if added, err = a.ledger.SeedSubscriptions(ctx, a.author(ledger.ViaStart), subs); err != nil {
		return fmt.Errorf("seed the subscriptions: %w", err)
	}
	if added > 0 {
		a.log.Info("subscriptions added to the ledger", "count", added)
	}
	return nil
}
