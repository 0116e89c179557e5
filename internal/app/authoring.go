package app

import (
	"context"
	"errors"

	"tallyman/engine/trial/preview"
	"tallyman/engine/trial/ruletest"
	apirules "tallyman/internal/api/rules"
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

// preview tries a rule of the node for the API.
func (a *App) preview(ctx context.Context, q apirules.PreviewQuery) (*preview.Report, error) {
	report, err := a.authoring.Preview(ctx, authoring.PreviewRequest(q))
	return report, apiError(err)
}

// draft tries another text of a rule for the API.
func (a *App) draft(ctx context.Context, q apirules.DraftQuery) (*apirules.Drafted, error) {
	d, err := a.authoring.Draft(ctx, authoring.DraftRequest{Text: q.Text, PreviewRequest: authoring.PreviewRequest(q.PreviewQuery)})
	if err != nil {
		return nil, apiError(err)
	}
	return &apirules.Drafted{
		Scope: d.Scope, Problems: forms(d.Problems), Changes: d.Changes, Warnings: d.Warnings, Preview: d.Preview, Effect: d.Effect, Notes: d.Notes,
	}, nil
}

// apiError is an error of authoring as the API knows it.
func apiError(err error) error {
	if at, ok := errors.AsType[*authoring.AtError](err); ok {
		return &apirules.AtError{Err: at.Err}
	}
	if errors.Is(err, authoring.ErrBusy) {
		return apirules.ErrBusy
	}
	return err
}
