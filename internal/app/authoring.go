package app

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"

	"tallyman/engine"
	"tallyman/engine/trial/ruletest"
	"tallyman/internal/api/view"
	"tallyman/internal/authoring"
	"tallyman/internal/wire"
	"tallyman/rules"
	"tallyman/rules/problem"
	"tallyman/scanners/sqlite"
)

// Authoring returns the commands for authors of rules. They use the sources and the ledger that a node would open.
func Authoring() authoring.Commands {
	return authoring.Commands{
		OpenSource: openSource,
		OpenLedger: OpenLedgerReadOnly,
		OpenMemory: func() (ruletest.Database, error) { return sqlite.Open(sqlite.Config{URL: "sqlite::memory:"}) },
	}
}

// openAuthoring makes the part of the API for authors of rules.
func (a *App) openAuthoring() {
	a.authoring = authoring.NewNode(authoring.Parts{
		Config: a.cfg, Engine: a.engine, Ledger: a.ledger, Sources: scannerSources(a.sources), Silencer: &a.silences,
		InForce: func() []*rules.Rule {
			_, list, _ := a.book.get()
			return list
		},
	})
}

// ruleSource returns the text of a rule as it was loaded, and the text in its file where that differs.
func (a *App) ruleSource(ctx context.Context, id string) (*wire.RuleSource, error) {
	if err := a.engine.Find(id, nil); err != nil {
		return nil, err
	}
	set, list, stale := a.book.get()
	s := &wire.RuleSource{Rule: id, Version: a.engine.Version()}
	var first *rules.Rule
	var scopes []*rules.Rule
	for _, r := range list {
		if r.ID == id {
			first, scopes = cmp.Or(first, r), append(scopes, r)
			s.Scopes = append(s.Scopes, r.Scope)
		}
	}
	if first == nil { // The rule was removed meanwhile.
		return nil, &engine.UnknownError{What: "rule", Name: id}
	}
	w := first.Written()
	s.File, s.Line, s.Text = w.File, w.Line, w.YAML
	s.Problems = view.FileProblems(a.remarks(id, w))
	s.Warnings = view.FileProblems(a.authoring.Warnings(ctx, scopes))
	if stale[id] {
		s.Disk = onDisk(set, id, w.File)
	}
	return s, nil
}

// remarks returns the problems of the rule as it runs: why it is not verified, and its warnings.
func (a *App) remarks(id string, w rules.WrittenRule) problem.List {
	var all problem.List
	for _, s := range a.engine.Here(id) {
		found := authoring.Causes(s.Rule, s.Cause, string(wire.CodeRuleUnverified))
		if s.Runs != nil { // The running rule means the same but was read earlier, so its lines may have moved.
			was := s.Runs.Written()
			for i := range found {
				if n := found[i].Line - was.Line; n >= 0 && n <= strings.Count(was.YAML, "\n") {
					found[i].Line += w.Line - was.Line
				}
			}
		}
		all = append(all, found...)
		for _, text := range s.Warnings {
			code, message, _ := strings.Cut(text, ": ")
			if code == rules.CodeInitial { // Authoring.Warnings reports it, with its place in the file.
				continue
			}
			all = append(all, s.Rule.Problem("probe.sql", code, message, ""))
		}
	}
	for i := range all {
		all[i].Rule = id
	}
	return rules.Tidy(all)
}

// onDisk returns the text of a stale rule in the files, and why that text is refused.
func onDisk(set *rules.Set, id, file string) *wire.DiskSource {
	d := &wire.DiskSource{}
	w, found := set.Written(id)
	if d.Gone = !found; found {
		d.File, d.Line, d.Text, file = w.File, w.Line, w.YAML, w.File
	}
	var why problem.List
	for _, p := range set.Problems {
		bad := filepath.Clean(p.File)
		if p.Rule == id || file == bad || strings.HasPrefix(file, bad+string(filepath.Separator)) {
			why = append(why, p)
		}
	}
	d.Problems = view.FileProblems(why)
	return d
}
