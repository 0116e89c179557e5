package app

import (
	"tallyman/internal/api"
	"tallyman/internal/api/deliveries"
)

// rooms are the parts of the API, each with what it needs of the node.
func (a *App) rooms() []api.Room {
	return []api.Room{
		deliveries.New(deliveries.Deps{Deliveries: a.ledger, Wake: a.engine.Wake, Sinks: a.servedSinks(), Logger: a.log}),
	}
}
