package demo

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver of the sample WMS

	"tallyman/configs"
	"tallyman/examples/wms"
	"tallyman/internal/config"
)

// ownRules are the demo's beside the pack of the sample warehouse.
//
//go:embed rules/*.yaml
var ownRules embed.FS

// files is the folder of one demo: rules, catalogue, the WMS database and the ledger. It goes when the demo ends.
type files struct {
	dir string
	wms *sql.DB
}

func newFiles(ctx context.Context) (_ *files, err error) {
	f := &files{}
	if f.dir, err = os.MkdirTemp("", "tallyman-demo-"); err != nil {
		return nil, fmt.Errorf("make the demo's folder: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	for _, pack := range []fs.FS{wms.Rules, ownRules} {
		if err := os.CopyFS(f.dir, pack); err != nil {
			return nil, fmt.Errorf("write the rules: %w", err)
		}
	}
	if err := os.WriteFile(f.path("types.yaml"), configs.Types, 0o600); err != nil {
		return nil, fmt.Errorf("write the type catalogue: %w", err)
	}
	f.wms, err = sql.Open("sqlite", "file:"+f.path("wms.db")+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)&_pragma=synchronous(NORMAL)")
	if err != nil {
		return nil, fmt.Errorf("open the sample WMS: %w", err)
	}
	f.wms.SetMaxOpenConns(1)
	if _, err := f.wms.ExecContext(ctx, wms.Schema); err != nil {
		return nil, fmt.Errorf("create the sample WMS: %w", err)
	}
	return f, nil
}

func (f *files) path(name string) string { return filepath.Join(f.dir, name) }

// config is what a site would write into tallyman.yaml.
func (f *files) config(listen string, clock *Clock, carrierURL string) *config.Config {
	c := config.Default()
	c.HTTP.Listen = listen
	c.Ledger.Driver, c.Ledger.Path = config.SQLite, f.path("ledger.db")
	c.Rules.Paths = []string{f.path("rules")}
	c.Types.Path = f.path("types.yaml")
	c.Sources = map[string]config.Source{
		"wms": {Driver: config.SQLite, Path: f.path("wms.db"), MaxConnections: 4, StatementTimeout: 30 * time.Second},
	}
	c.Sinks[queueName] = config.Sink{Type: config.SinkQueue, Queue: &config.QueueSink{
		Timezone: time.UTC, Lease: itemLease(clock), MaxAttempts: 5,
		SuspendSteps: []time.Duration{clock.Real(firstSuspend), clock.Real(thenSuspend)},
	}}
	c.Sinks[carrierName] = config.Sink{
		Type: config.SinkWebhook, Webhook: &config.WebhookSink{URL: config.NewSecret(carrierURL), AllowPrivate: true, Batch: config.Batch{Max: 1}},
		Push: &config.PushSink{Timeout: min(clock.Span(5*time.Second), 5*time.Minute), Concurrency: 4, Breaker: config.Breaker{Failures: 5, Open: 10 * time.Second}},
	}
	for subscriber, types := range map[string][]string{
		"role:keeper":  {"REP_NOTICE", "PICK_FACE_LOW", "COUNT_DIFF", "WAVE_STUCK"},
		"role:dock":    {"ORDER_LATE", "WAVE_STUCK"},
		"role:quality": {"LOT_EXPIRY", "COUNT_DIFF"},
	} {
		for _, t := range types {
			c.Subscriptions = append(c.Subscriptions, config.Subscription{Type: t, Warehouse: "*", Subscriber: subscriber})
		}
	}
	return &c
}

// itemLease is long enough for the longest refill, however slowly the warehouse lives.
func itemLease(clock *Clock) time.Duration {
	return min(max(30*time.Second, clock.Real(2*longest)), 24*time.Hour)
}

func (f *files) close() error {
	var err error
	if f.wms != nil {
		err = f.wms.Close()
	}
	if gone := os.RemoveAll(f.dir); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}
