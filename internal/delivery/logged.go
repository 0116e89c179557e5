package delivery

import (
	"log/slog"
	"slices"
)

// Logged are deliveries as logs name them: by the ids of their notices, and of the runs (or requests) that made those. They are worked
// out only where the line is written.
type Logged []Delivery

// mostLogged is how many of a kind a line names.
const mostLogged = 20

// LogValue implements slog.LogValuer.
func (l Logged) LogValue() slog.Value {
	var ids, runs []string
	for i := range l {
		n := l[i].Notice
		if len(ids) < mostLogged {
			ids = append(ids, n.ID)
		}
		if run := n.Origin().String(); len(runs) < mostLogged && !slices.Contains(runs, run) {
			runs = append(runs, run)
		}
	}
	return slog.GroupValue(slog.Int("count", len(l)), slog.Any("ids", ids), slog.Any("runs", runs))
}
