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

// site is what is known of the site: by its ledger, or where none is in reach by its files.
type site struct {
	ledger ledger.View // nil where none is in reach
	reason string      // why
	cfg    *config.Config
	types  catalog.Catalog

	silences silence.Set
}

// recall opens the ledger for reading, beside a node that runs perhaps. Without one the files have to do.
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

// start returns the ledger as trials want it.
func (s *site) start() trial.Ledger {
	if s.ledger == nil {
		return nil
	}
	return s.ledger
}

// Subscriptions returns those of the type: the ledger's, or those that a new ledger would begin with.
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

// seedOf are the subscriptions that a new ledger would begin with, of one type.
func seedOf(cfg *config.Config, typ string) []ledger.Subscription {
	var subs []ledger.Subscription
	for _, s := range cfg.Subscriptions.Seed {
		if s.Type == typ {
			subs = append(subs, ledger.Subscription{Type: s.Type, Warehouse: s.Warehouse, Subscriber: s.Subscriber})
		}
	}
	return subs
}

// Known is what the configuration names, with the types, for rules to be held against.
func Known(cfg *config.Config, types catalog.Catalog) rules.Site {
	return rules.Site{Sources: slices.Sorted(maps.Keys(cfg.Sources)), Sinks: Sinks(cfg), Types: types}
}

// previewSinks are the configured sinks with what their types declare.
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

// Sinks are the configured sinks.
func Sinks(cfg *config.Config) deliver.Sinks {
	types := map[string]string{}
	for name, s := range cfg.Sinks {
		types[name] = s.TypeName()
	}
	return deliver.Sinks{Types: types, Push: cfg.PushTypes()}
}
