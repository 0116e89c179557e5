package authoring

import (
	"context"
	"errors"
	"time"

	"tallyman/engine"
	"tallyman/engine/judge"
	"tallyman/engine/trial"
	"tallyman/engine/trial/preview"
	"tallyman/internal/config"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/scanners"
)

// The bounds of previews and drafts on a node.
const (
	previewTimeout  = 30 * time.Second
	previewsAtATime = 2
	previewsWaitFor = 2 * time.Second
)

// ErrBusy says that previewsAtATime previews are running, so that another one cannot start.
var ErrBusy = errors.New("other previews are running")

// AtError says that the text of a time cannot be read.
type AtError struct{ Err error }

// Error returns why.
func (e *AtError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *AtError) Unwrap() error { return e.Err }

// Ledger is the part of a node's ledger that trials of rules read.
type Ledger interface {
	trial.Ledger
	ledger.TypeReader
	ledger.SubscriptionReader
	ledger.ScopeLists
}

// Parts are the parts of a running node that its previews and drafts use.
type Parts struct {
	Config   *config.Config
	Engine   *engine.Engine
	Ledger   Ledger
	Sources  map[string]scanners.Source // By name.
	Silencer judge.Silencer
	InForce  func() []*rules.Rule // The rules that the node runs.
}

// Node serves the requests of authors on a running node. It starts from the state in the node's ledger and uses the
// node's sources. On a source, a request counts as one of the runs that the source allows at a time.
type Node struct {
	Parts
	previews chan struct{} // Its capacity is the number of previews that may run at a time.
	types    columnTypes
}

// NewNode makes a Node from the parts of a running node.
func NewNode(p Parts) *Node { return &Node{Parts: p, previews: make(chan struct{}, previewsAtATime)} }

// PreviewRequest says which rule is tried, and when.
type PreviewRequest struct {
	Rule  string
	Scope *string // May be nil where the rule has only one scope.
	At    string  // See preview.ParseAt.
	Limit int     // The most entries of each list.
}

// Preview tries a rule and writes nothing. Errors are *engine.UnknownError, engine.ErrManyScopes, *AtError, ErrBusy,
// engine.ErrSourceBusy, and the errors of preview.Run and of the ledger.
func (n *Node) Preview(ctx context.Context, q PreviewRequest) (*preview.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, previewTimeout)
	defer cancel()
	r, err := n.Engine.Rule(q.Rule, q.Scope)
	if err != nil {
		return nil, err
	}
	due, err := preview.ParseAt(q.At, r.Schedule.Timezone, n.Engine.Now())
	if err != nil {
		return nil, &AtError{Err: err}
	}
	leave, err := n.enterPreview(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	release, err := n.Engine.Room(ctx, r.Source)
	if err != nil {
		return nil, err
	}
	defer release()
	types, err := n.Ledger.Types(ctx)
	if err != nil {
		return nil, err
	}
	return n.previewOf(ctx, r, types, due, q.Limit)
}

// enterPreview waits until fewer than previewsAtATime previews run. The caller must call leave at the end.
func (n *Node) enterPreview(ctx context.Context) (leave func(), err error) {
	select {
	case n.previews <- struct{}{}:
		return func() { <-n.previews }, nil
	case <-time.After(previewsWaitFor):
		return nil, ErrBusy
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// previewOf tries a rule from the state in the node's own ledger.
func (n *Node) previewOf(ctx context.Context, r *rules.Rule, types catalog.Catalog, due time.Time, limit int) (*preview.Report, error) {
	p, err := preview.Run(ctx, preview.Request{
		Rule: r, Source: n.Sources[r.Source], Name: r.Source, Types: types, Sinks: previewSinks(n.Config), Ledger: n.Ledger,
		Subscriptions: func(ctx context.Context, typ string) ([]ledger.Subscription, error) {
			return n.Ledger.Subscriptions(ctx, ledger.SubscriptionFilter{Type: typ})
		},
		Silencer: n.Silencer, Due: due, Limit: limit,
	})
	if err != nil {
		return nil, errors.Join(err, context.Cause(ctx))
	}
	return p.Report, nil
}
