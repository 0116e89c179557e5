package authoring

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"tallyman/engine/judge"
	"tallyman/engine/trial"
	"tallyman/engine/trial/preview"
	"tallyman/internal/config"
	"tallyman/internal/ledger"
	"tallyman/internal/silence"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
	"tallyman/sinks"
)

// site holds what a command knows of the site. It comes from the ledger, or from the files where no ledger is in reach.
type site struct {
	ledger ledger.View // nil where no ledger is in reach.
	reason string      // Why no ledger is in reach.
	cfg    *config.Config
	types  catalog.Catalog

	silences silence.Set
}

// recall opens the ledger for reading; a node may run at the same time. Where no ledger is in reach, it uses the files.
func (c Commands) recall(ctx context.Context, cfg *config.Config) (*site, error) {
	types, problems := catalog.Load(cfg.Types.Path, catalog.OnSinks(Sinks(cfg)))
	if err := problems.Err(); err != nil {
		return nil, err
	}
	maps.Copy(types, catalog.BuiltIn())
	known := &site{cfg: cfg, types: types}
	if err := cfg.Need("ledger"); err != nil {
		known.reason = reason(cfg.Ledger, err)
		return known, nil
	}
	view, err := c.OpenLedger(ctx, cfg.Ledger)
	if err != nil {
		known.reason = reason(cfg.Ledger, err)
		return known, ctx.Err()
	}
	known.ledger = view
	recorded, err := view.Types(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the types: %w", err), view.Close())
	}
	maps.Copy(known.types, recorded) // the ledger's types win; a node adds the types of the file that the ledger lacks
	silences, err := view.Silences(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the silences: %w", err), view.Close())
	}
	known.silences.Replace(silences)
	return known, nil
}

// reason says in one line why the ledger cannot be read.
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

// start returns the ledger for a trial. It is nil, and not an interface that holds nil, where there is no ledger.
func (s *site) start() trial.Ledger {
	if s.ledger == nil {
		return nil
	}
	return s.ledger
}

// Subscriptions returns the subscriptions of the type. Without a ledger it returns the subscriptions that a new ledger
// would begin with.
func (s *site) Subscriptions(ctx context.Context, typ string) ([]ledger.Subscription, error) {
	if s.ledger == nil {
		return seedOf(s.cfg, typ), nil
	}
	return s.ledger.Subscriptions(ctx, ledger.SubscriptionFilter{Type: typ})
}

// Close closes the ledger.
func (s *site) Close() error {
	if s.ledger == nil {
		return nil
	}
	if err := s.ledger.Close(); err != nil {
		return fmt.Errorf("close the ledger: %w", err)
	}
	return nil
}

// seedOf returns the subscriptions of one type that a new ledger would begin with.
func seedOf(cfg *config.Config, typ string) []ledger.Subscription {
	var subs []ledger.Subscription
	for _, s := range cfg.Subscriptions.Seed {
		if s.Type == typ {
			subs = append(subs, ledger.Subscription{Type: s.Type, Warehouse: s.Warehouse, Subscriber: s.Subscriber})
		}
	}
	return subs
}

// Known returns the names of the configuration and the types, for rules.Check.
func Known(cfg *config.Config, types catalog.Catalog) rules.Site {
	return rules.Site{Sources: slices.Sorted(maps.Keys(cfg.Sources)), Sinks: Sinks(cfg), Types: types}
}

// previewSinks returns the configured sinks with the properties of their types.
func previewSinks(cfg *config.Config) map[string]preview.Sink {
	list := map[string]preview.Sink{}
	for name, s := range cfg.Sinks {
		list[name] = preview.Sink{Type: s.TypeName(), Channel: channelOf(s)}
	}
	return list
}

func channelOf(s sinks.Settings) judge.Channel {
	channel, isPush := s.(sinks.ChannelSettings)
	if !isPush {
		return judge.Channel{Inbox: s.Kind() == sinks.InboxKind}
	}
	return judge.Channel{Push: true, Each: channel.IsEach(), Address: channel.NeedsAddress()}
}

// Sinks returns the configured sinks.
func Sinks(cfg *config.Config) deliver.Sinks {
	types := map[string]string{}
	for name, s := range cfg.Sinks {
		types[name] = s.TypeName()
	}
	return deliver.Sinks{Types: types, Push: cfg.PushTypes()}
}
