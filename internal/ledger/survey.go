package ledger

import (
	"context"
	"time"

	"tallyman/internal/item"
)

// Surveyor counts the work that a ledger has left. Operators look at the counts after a restore.
type Surveyor interface {
	// Survey reads every open item, so it is not for calls that come often. Survey only reads.
	Survey(ctx context.Context) (Survey, error)
}

// Survey is what Surveyor counts.
type Survey struct {
	// LastSign is when a node last grew its branch. A node does so every five seconds. So if a node ran during the
	// backup, the backup is at most five seconds younger than LastSign. Zero = no node has used the ledger.
	LastSign   time.Time
	LastNotice time.Time // when the latest notice was made; zero = there is none
	Claimed    int64     // firings that a node holds
	Abandoned  int64     // firings whose lease is over before their commit; a node repeats them
	Watermarks int64     // rules and scopes with a watermark
	// Items has the items that have not ended, by queue and state. A test twin is a queue of its own.
	Items map[string]map[item.State]int64
}
