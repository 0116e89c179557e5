package demo

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // The driver of the sample WMS.

	"tallyman/configs"
	"tallyman/examples/wms"
	"tallyman/internal/app"
	"tallyman/internal/config"
	"tallyman/rules/strictyaml"
)

// ownRules are the demo's own rules, in addition to the rule pack of the sample warehouse.
//
//go:embed rules/*.yaml
var ownRules embed.FS

// folder has the files of one demo: rules, catalogue, the WMS database and the ledger. The demo deletes it at the end.
type folder struct {
	dir string
	wms *sql.DB
}

func newFolder(ctx context.Context) (_ *folder, err error) {
	f := &folder{}
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
	f.wms, err = sql.Open("sqlite", "file:"+(&url.URL{Path: f.path("wms.db")}).EscapedPath()+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)&_pragma=synchronous(NORMAL)")
	if err != nil {
		return nil, fmt.Errorf("open the sample WMS: %w", err)
	}
	f.wms.SetMaxOpenConns(1)
	if _, err := f.wms.ExecContext(ctx, wms.Schema); err != nil {
		return nil, fmt.Errorf("create the sample WMS: %w", err)
	}
	return f, nil
}

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

// config writes a tallyman.yaml as a site would, and loads it.
func (f *folder) config(listen string, clock *Clock, carrierURL string) (*config.Config, error) {
	long := func(d, least time.Duration) string {
		return strictyaml.FormatDuration(max(d, least).Round(time.Millisecond))
	}
	text := fmt.Sprintf(`
http: {listen: %q}
ledger: {url: "sqlite:ledger.db"}
sources:
  wms: {driver: sqlite, url: "sqlite:wms.db"}
sinks:
  inbox: {type: inbox}
  %s: {type: queue, lease: %s, suspend_steps: [%s, %s]}
  %s:
    type: webhook
    url: %q
    allow_private: true
    timeout: %s
    concurrency: 4
    breaker: {failures: 5, open: 10s}
`, listen, queueName, long(itemLease(clock), 0), long(clock.Real(firstSuspend), time.Second), long(clock.Real(thenSuspend), time.Second),
		carrierName, carrierURL, long(min(clock.Span(5*time.Second), 5*time.Minute), time.Second))
	if err := os.WriteFile(f.path("tallyman.yaml"), []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write the demo's configuration: %w", err)
	}
	c, err := app.LoadConfig(config.Options{File: f.path("tallyman.yaml")})
	if err != nil {
		return nil, err
	}
	for subscriber, types := range map[string][]string{
		"role:keeper":  {"REP_NOTICE", "PICK_FACE_LOW", "COUNT_DIFF", "WAVE_STUCK"},
		"role:dock":    {"ORDER_LATE", "WAVE_STUCK"},
		"role:quality": {"LOT_EXPIRY", "COUNT_DIFF"},
	} {
		for _, t := range types {
			c.Subscriptions.Seed = append(c.Subscriptions.Seed, config.Subscription{Type: t, Warehouse: "*", Subscriber: subscriber})
		}
	}
	return c, nil
}

// itemLease returns a lease that is longer than the longest refill at the speed.
func itemLease(clock *Clock) time.Duration {
	return min(max(30*time.Second, clock.Real(2*longest)), 24*time.Hour)
}

func (f *folder) close() error {
	var err error
	if f.wms != nil {
		err = f.wms.Close()
	}
	if gone := os.RemoveAll(f.dir); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}
