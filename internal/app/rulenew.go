package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tallyman/internal/config"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/problem"
	"tallyman/scanners"
	"tallyman/sinks"
)

// RuleMaker makes a first version of a rule from a table of a source.
type RuleMaker struct {
	cfg    *config.Config
	name   string
	source scanners.Source
	tables scanners.Inspector
	types  catalog.Catalog
}

// Source is the name of the source whose catalogue is read.
func (m *RuleMaker) Source() string { return m.name }

// OpenRuleMaker opens the source, whose catalogue is read. The configuration may have been loaded lazily.
func OpenRuleMaker(ctx context.Context, cfg *config.Config, source string) (*RuleMaker, error) {
	if err := knownSource(cfg, source); err != nil {
		return nil, err
	}
	if err := cfg.Need("sources", source); err != nil {
		return nil, err
	}
	types, problems := catalog.Load(cfg.Types.Path)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	open, err := openSource(ctx, source, cfg.Sources[source])
	if err != nil {
		return nil, fmt.Errorf("open source %s: %w", source, err)
	}
	tables, ok := open.(scanners.Inspector)
	if !ok {
		err := wrongUse("the driver %s of source %s cannot list tables; write the rule by hand, with configs/rules/sample.yaml as an example", cfg.Sources[source].Driver, source)
		return nil, errors.Join(err, open.Close())
	}
	return &RuleMaker{cfg: cfg, name: source, source: open, tables: tables, types: types}, nil
}

// Close closes the source.
func (m *RuleMaker) Close() error { return m.source.Close() }

// Types are those of the catalogue, by code.
func (m *RuleMaker) Types() []catalog.Type {
	var list []catalog.Type
	for _, code := range m.types.Codes() {
		list = append(list, m.types[code])
	}
	return list
}

// Tables returns the names of the tables and views that a rule may read.
func (m *RuleMaker) Tables(ctx context.Context) ([]string, error) {
	names, err := m.tables.Tables(ctx)
	return names, ofSource(m.name, err)
}

// Start proposes a rule on the table. A table that is not there is a *UsageError that says which one may have been meant.
func (m *RuleMaker) Start(ctx context.Context, table string) (*NewRule, error) {
	t, err := m.tables.Table(ctx, table)
	if scan, ok := errors.AsType[*scanners.Error](err); ok && scan.Code == scanners.CodeTable {
		return nil, m.noTable(ctx, table)
	}
	if err != nil {
		return nil, ofSource(m.name, err)
	}
	r := propose(t, m.types)
	r.Source, r.Sink = m.name, m.sink()
	r.ID = m.freeID(r.ID)
	return r, nil
}

func (m *RuleMaker) noTable(ctx context.Context, name string) error {
	names, err := m.tables.Tables(ctx)
	if err != nil {
		return err
	}
	const most = 30
	hint := problem.DidYouMean(name, names)
	switch {
	case hint != "":
	case len(names) > most:
		hint = fmt.Sprintf("it has %d tables", len(names))
	default:
		hint = listed("tables", names)
	}
	return wrongUse("the source %s has no table %q; %s", m.name, name, hint)
}

// sink is where a first rule's notices go: the inbox, or what there is.
func (m *RuleMaker) sink() string {
	names := slices.Sorted(maps.Keys(m.cfg.Sinks))
	for _, name := range names {
		if m.cfg.Sinks[name].Kind() == sinks.InboxKind {
			return name
		}
	}
	return append(names, "inbox")[0]
}

// freeID is the id, or the first of id-2, id-3 … that no rule of the site has.
func (m *RuleMaker) freeID(id string) string {
	taken := map[string]bool{}
	for _, r := range rules.Load(m.cfg.Rules.Paths).Rules {
		taken[r.ID] = true
	}
	free := id
	for n := 2; taken[free]; n++ {
		free = fmt.Sprintf("%s-%d", id, n)
	}
	return free
}

// Check holds the file that the rule would become against the configuration and its source.
func (m *RuleMaker) Check(ctx context.Context, file string, text []byte) (problems, warnings problem.List) {
	set := rules.LoadFile(file, text)
	rules.Check(set, known(m.cfg, m.types))
	s := &sourceCheck{name: m.name, types: m.types, problems: set.Problems}
	for _, r := range set.Rules {
		c := &ruleCheck{rule: r}
		s.checks = append(s.checks, c)
		s.check(ctx, c, m.source)
	}
	if s.lost != nil {
		s.tellLost()
	}
	return s.problems, s.warnings
}
