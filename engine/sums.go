package engine

import (
	"context"
	"sync"
	"time"

	"tallyman/internal/ledger"
)

// sumsHold is how long the sums of runs are told as they were read: for them the ledger goes through all runs that it keeps.
const sumsHold = 5 * time.Second

// sums remembers what the ledger has summed up of the runs, by rule and scope.
type sums struct {
	mu   sync.Mutex
	read time.Time
	by   map[string]ledger.Judged
}

// get returns them as they were some seconds ago at most; those who ask at once wait for one answer. The map is only read.
func (s *sums) get(ctx context.Context, l Ledger) (map[string]ledger.Judged, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by != nil && time.Since(s.read) < sumsHold {
		return s.by, nil
	}
	list, err := l.Judged(ctx)
	if err != nil {
		return nil, err
	}
	s.by, s.read = make(map[string]ledger.Judged, len(list)), time.Now()
	for _, j := range list {
		s.by[ledger.Known(j.Rule, j.Scope)] = j
	}
	return s.by, nil
}
