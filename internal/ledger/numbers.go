package ledger

import "context"

// Numbers grow with every change of what nodes keep in memory, one for each kind. A node asks for them all the time, and reads again what
// has changed: so what is changed on one node is in force on all of them within a second.
type Numbers interface {
	Numbers(ctx context.Context) (map[string]int64, error)
}
