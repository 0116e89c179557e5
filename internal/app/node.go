package app

import (
	"context"
	"maps"
	"slices"
	"sync"

	"tallyman/internal/api"
	"tallyman/internal/wire"
)

// node is the node and what it reaches. All parts are asked at once, so that one that hangs holds up none.
func (a *App) node(ctx context.Context) api.NodeReport {
	r := api.NodeReport{Node: a.opts.Node, Version: a.opts.Version}
	names := slices.Sorted(maps.Keys(a.sources))
	reached := make([]error, len(names))
	var ledger error
	var asked sync.WaitGroup
	asked.Go(func() { ledger = a.pingLedger(ctx) })
	asked.Go(func() { r.Nodes = a.nodes(ctx) })
	for i, name := range names {
		asked.Go(func() { reached[i] = pingSource(ctx, a.sources[name]) })
	}
	asked.Wait()
	r.Health = append(r.Health, a.ledgerHealth.report("ledger", "", ledger))
	r.Health = append(r.Health, a.indexHealth.report("redis", a.index.sink, a.index.inbox.Ready()))
	for _, name := range slices.Sorted(maps.Keys(a.index.queues)) {
		q := a.index.queues[name]
		r.Health = append(r.Health, q.health.report("redis", name, q.Ready()))
	}
	r.Health = append(r.Health, a.pushes.reports()...)
	for i, name := range names {
		r.Health = append(r.Health, a.sources[name].health.report("source", name, reached[i]))
	}
	_, fault := a.book.taken()
	if h := a.rulesHealth.report("rules", "", fault); fault != nil {
		r.Health = append(r.Health, h)
	}
	if a.tls != nil {
		r.Health = append(r.Health, a.tlsHealth.report("tls", "", a.tls.Pair.Check()))
	}
	return r
}

// nodes are those that the ledger has heard of; none where it is out of reach.
func (a *App) nodes(ctx context.Context) (list []wire.NodeStatus) {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	nodes, err := a.ledger.Nodes(ctx)
	if err != nil {
		a.log.Warn("nodes not read", "error", err)
	}
	here := a.engine.Version()
	for _, n := range nodes {
		if n.Name == a.opts.Node { // the ledger has yet to hear what it has read just now
			n.Version, n.Rules = a.opts.Version, here
		}
		list = append(list, wire.NodeStatus{
			Name: n.Name, Version: n.Version, Rules: n.Rules, Started: n.Started.UTC(), Seen: n.Seen.UTC(),
			Differs: n.Version != a.opts.Version || n.Rules != here,
		})
	}
	return list
}

func pingSource(ctx context.Context, s *source) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return s.Ping(ctx)
}
