package app

import (
	"tallyman/engine/trial/ruletest"
	"tallyman/internal/authoring"
	"tallyman/rules"
	"tallyman/scanners/sqlite"
)

// Authoring are the commands for authors of rules, on the sources and the ledger that a node would open.
func Authoring() authoring.Commands {
	return authoring.Commands{
		OpenSource: openSource,
		OpenLedger: OpenLedgerReadOnly,
		OpenMemory: func() (ruletest.Database, error) { return sqlite.Open(sqlite.Config{URL: "sqlite::memory:"}) },
	}
}

// openAuthoring makes the authoring of this node, for the API.
func (a *App) openAuthoring() {
	a.authoring = authoring.NewNode(authoring.Parts{
		Config: a.cfg, Engine: a.engine, Ledger: a.ledger, Sources: scannerSources(a.sources), Silencer: &a.silences,
		InForce: func() []*rules.Rule {
			_, list, _ := a.book.get()
			return list
		},
	})
}
