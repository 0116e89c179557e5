package authoring

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
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

// mostTried is how many tables Suitable looks at.
const mostTried = 100

// Source returns the name of the source whose tables the maker reads.
func (m *RuleMaker) Source() string { return m.name }

// OpenRuleMaker opens the source to read its tables. The configuration may have been loaded lazily.
func (c Commands) OpenRuleMaker(ctx context.Context, cfg *config.Config, source string) (*RuleMaker, error) {
	if err := knownSource(cfg, source); err != nil {
		return nil, err
	}
	if err := cfg.Need("sources", source); err != nil {
		return nil, err
	}
	types, problems := catalog.Load(cfg.Types.Path, catalog.OnSinks(Sinks(cfg)))
	if err := problems.Err(); err != nil {
		return nil, err
	}
	open, err := c.OpenSource(ctx, source, cfg.Sources[source])
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

// Types returns the types of the catalogue, sorted by code.
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

// Start proposes a rule on the table. For a table that does not exist it returns a *UsageError, which names a similar
// table.
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

// Suitable returns the first table from which a whole rule can be proposed, without questions. Without such a table it
// returns a *UsageError.
func (m *RuleMaker) Suitable(ctx context.Context) (string, error) {
	names, err := m.Tables(ctx)
	if err != nil {
		return "", err
	}
	for _, name := range names[:min(len(names), mostTried)] {
		r, err := m.Start(ctx, name)
		if err != nil {
			return "", err
		}
		if r.Where != "" && len(r.Key) > 0 && r.Type != "" {
			return name, nil
		}
	}
	return "", wrongUse("no table of the source %s has a key, a quantity and the fields of a type; name one with --table, --where, --key and --type; %s",
		m.name, listed("tables", names[:min(len(names), mostTried)]))
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

// sink returns the sink for the notices of a new rule: the inbox, else the first sink.
func (m *RuleMaker) sink() string {
	names := slices.Sorted(maps.Keys(m.cfg.Sinks))
	for _, name := range names {
		if m.cfg.Sinks[name].Kind() == sinks.InboxKind {
			return name
		}
	}
	return append(names, "inbox")[0]
}

// freeID returns the id, or the first of id-2, id-3 … that no rule of the site has.
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

// Check checks the text of the new rule's file against the configuration and the source.
func (m *RuleMaker) Check(ctx context.Context, file string, text []byte) (problems, warnings problem.List) {
	set := rules.LoadFile(file, text)
	rules.Check(set, Known(m.cfg, m.types))
	s := &sourceCheck{name: m.name, types: m.types, sourceFindings: sourceFindings{problems: set.Problems}}
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

// NewFile is a file of a new rule.
type NewFile struct {
	Path string
	Text []byte
}

// schemaFile is the name of the file with the JSON Schema of rule files.
const schemaFile = "rule.schema.json"

// DefaultFile returns the default path for the rule: a file of its own in the first rule folder of the site.
func (m *RuleMaker) DefaultFile(r *NewRule) string {
	folder := m.cfg.Rules.Paths[0]
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		folder = filepath.Dir(folder)
	}
	return filepath.Join(folder, r.ID+".yaml")
}

// Files returns the files to write. The rule's file is at the path. If test is set, a test stands beside the rule's
// file. If the site does not have the JSON Schema yet, the schema stands beside the configuration.
func (m *RuleMaker) Files(r *NewRule, path string, test bool) ([]NewFile, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	folder := filepath.Dir(path)
	schema, found := findSchema(folder)
	if !found {
		schema = filepath.Join(filepath.Dir(m.cfg.File), schemaFile)
	}
	text, err := r.Text(relative(folder, schema))
	if err != nil {
		return nil, err
	}
	files := []NewFile{{path, text}}
	if test {
		name := filepath.Base(path)
		testFile := name[:len(name)-len(filepath.Ext(name))] + "_test.yaml"
		text, err := r.TestText(name, testFile, relative(folder, m.cfg.Types.Path))
		if err != nil {
			return nil, err
		}
		files = append(files, NewFile{filepath.Join(folder, testFile), text})
	}
	if _, err := os.Stat(schema); err != nil {
		text, err := rules.Schema()
		if err != nil {
			return nil, err
		}
		files = append(files, NewFile{schema, text})
	}
	return files, nil
}

// findSchema looks for the schema in the folder and in the folders above it.
func findSchema(folder string) (string, bool) {
	for {
		path := filepath.Join(folder, schemaFile)
		if _, err := os.Stat(path); err == nil {
			return path, true
		}
		above := filepath.Dir(folder)
		if above == folder {
			return "", false
		}
		folder = above
	}
}

// relative returns the path from the folder to the file, with slashes.
func relative(folder, file string) string {
	path, err := filepath.Rel(folder, file)
	if err != nil { // on another volume
		return file
	}
	return filepath.ToSlash(path)
}
