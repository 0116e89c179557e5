package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"tallyman/internal/config"
	"tallyman/internal/ledger"
	"tallyman/internal/lineage"
	"tallyman/sinks/recovery"
)

// outlookTimeout bounds the comparison of one index with the ledger.
const outlookTimeout = 15 * time.Second

// LedgerSurvey is the state of a ledger: what the ledger has left to do, and what the next node that starts does.
type LedgerSurvey struct {
	ledger.Survey

	Restored time.Time            // when a node last noticed a restore; zero = never
	Waiting  map[string]int64     // pending deliveries by sink
	Oldest   map[string]time.Time // since when the oldest of them waits
	Pending  int64                // findings
	Firing   int64                // findings
	Withheld map[string]int64     // items by queue
	Indexes  []IndexOutlook       // the inbox and each queue; none where Redis is embedded
}

// IndexOutlook is what the next node that starts does with an index in Redis.
type IndexOutlook struct {
	recovery.Outlook

	Sink string
	Err  error // Redis did not answer, or the ledger did not.
}

// SurveyLedger reads the configured ledger and compares the indexes in Redis with it. It changes nothing. Nodes may
// have the ledger open. A ledger that does not exist, or has another version of the schema, gives ledger.ErrSchema.
func SurveyLedger(ctx context.Context, cfg *config.Config) (s *LedgerSurvey, err error) {
	l, err := openForReading(ctx, cfg.Ledger)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	s, err = survey(ctx, l)
	if err != nil {
		return nil, fmt.Errorf("survey the ledger: %w", err)
	}
	if !cfg.Redis.Embedded() {
		s.Indexes, err = outlooks(ctx, cfg, l)
	}
	return s, err
}

func survey(ctx context.Context, l ledger.Ledger) (*LedgerSurvey, error) {
	s := &LedgerSurvey{}
	var numbers map[string]int64
	var findings []ledger.FindingCount
	for _, read := range []func() error{
		func() (err error) { s.Survey, err = l.Survey(ctx); return err },
		func() (err error) { numbers, err = l.Numbers(ctx); return err },
		func() (err error) { s.Waiting, err = l.CountPending(ctx); return err },
		func() (err error) { s.Oldest, err = l.OldestPending(ctx); return err },
		func() (err error) { findings, err = l.CountFindings(ctx); return err },
		func() (err error) { s.Withheld, err = l.CountWithheld(ctx); return err },
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	if micros := numbers["restored"]; micros > 0 {
		s.Restored = time.UnixMicro(micros).UTC()
	}
	for _, f := range findings {
		s.Pending += f.Pending
		s.Firing += f.Firing
	}
	return s, nil
}

// outlooks compares each index in Redis with the ledger.
func outlooks(ctx context.Context, cfg *config.Config, l ledger.Ledger) (list []IndexOutlook, err error) {
	ix, err := openIndex(cfg, sharedParts{ledger: l, lineage: lineage.Reader(l), node: "reader", session: noSession{}, log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ix.close()) }()
	look := func(sink string, ask func(context.Context) (recovery.Outlook, error)) {
		ctx, cancel := context.WithTimeout(ctx, outlookTimeout)
		defer cancel()
		o, err := ask(ctx)
		list = append(list, IndexOutlook{Outlook: o, Sink: sink, Err: err})
	}
	look(ix.sink, ix.inbox.Outlook)
	for _, name := range slices.Sorted(maps.Keys(ix.queues)) {
		look(name, ix.queues[name].Outlook)
	}
	return list, nil
}

// noSession is the session of a command that only reads.
type noSession struct{}

// Hold implements delivery.Session.
func (noSession) Hold() (string, <-chan struct{}) {
	lapsed := make(chan struct{})
	close(lapsed)
	return "", lapsed
}

// Holds implements delivery.Session.
func (noSession) Holds(string) bool { return false }
