package app

import (
	"context"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"tallyman/internal/config"
	"tallyman/scanners"
)

// sourceEntry is an open source and its health.
type sourceEntry struct {
	scanners.Source
	health health
}

// openSources opens every source without connecting. So a source that is out of reach concerns only its own rules.
func openSources(ctx context.Context, configured map[string]config.Source) (map[string]*sourceEntry, error) {
	open := map[string]*sourceEntry{}
	for name, c := range configured {
		s, err := openSource(ctx, name, c)
		if err != nil {
			for _, other := range open {
				_ = other.Close() // The caller gets the first error.
			}
			return nil, fmt.Errorf("open source %s: %w", name, err)
		}
		open[name] = &sourceEntry{Source: s}
	}
	return open, nil
}

func openSource(ctx context.Context, name string, c config.Source) (scanners.Source, error) {
	for _, d := range Types().Drivers {
		if d.Name == string(c.Driver) {
			return d.Open(ctx, scanners.Config{
				URL: c.Address(), MaxConnections: c.MaxConnections, StatementTimeout: c.StatementTimeout,
				Location:  c.Timezone.Location,
				Limits:    scanners.Limits{Cell: c.MaxCellBytes, Row: c.MaxRowBytes},
				Functions: scanners.Functions{Source: name, Allowed: c.Functions},
			})
		}
	}
	return nil, fmt.Errorf("there is no driver %q", c.Driver)
}

func scannerSources(open map[string]*sourceEntry) map[string]scanners.Source {
	list := map[string]scanners.Source{}
	for name, s := range open {
		list[name] = s.Source
	}
	return list
}

// connections returns how many runs may ask each source at a time: one for each connection.
func connections(configured map[string]config.Source) map[string]int {
	list := map[string]int{}
	for name, c := range configured {
		list[name] = c.MaxConnections
	}
	return list
}

const (
	checkedSources = 4                // Sources that are asked at a time.
	reachTimeout   = 10 * time.Second // The time limit for all answers of a source.
)

// SourceCheck is the result of asking a source for the rights of its user.
type SourceCheck struct {
	Name    string            `json:"name"`
	Driver  string            `json:"driver"`
	Error   string            `json:"error,omitempty"` // Why the source could not be asked. Empty means it was asked.
	Unasked bool              `json:"unasked"`         // The database cannot say what a user may do.
	Dangers []scanners.Danger `json:"dangers"`
	Clock   *SourceClock      `json:"-"` // Nil where the source has no clock or does not tell its time.
	// The certificates of the server; nil without TLS, and where the driver does not show them.
	Certificates []*x509.Certificate `json:"-"`
}

// SourceClock is the time of a source's server, in the server's zone. Before and After are this machine's times of the
// question and the answer.
type SourceClock struct{ Server, Before, After time.Time }

// CheckSources connects to every source and asks what its user may do besides reading. CheckSources has no error: each
// check has its own.
func CheckSources(ctx context.Context, cfg *config.Config) []SourceCheck {
	names := slices.Sorted(maps.Keys(cfg.Sources))
	checks := make([]SourceCheck, len(names))
	var g errgroup.Group
	g.SetLimit(checkedSources)
	for i, name := range names {
		g.Go(func() error {
			checks[i] = checkSource(ctx, name, cfg.Sources[name])
			return nil
		})
	}
	_ = g.Wait() // There is no error: each check has its own.
	return checks
}

func checkSource(ctx context.Context, name string, c config.Source) SourceCheck {
	check := SourceCheck{Name: name, Driver: string(c.Driver), Dangers: []scanners.Danger{}}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	source, err := openSource(ctx, name, c)
	if err == nil {
		defer func() { _ = source.Close() }()
		err = source.Ping(ctx)
	}
	if err != nil {
		check.Error = err.Error()
		return check
	}
	if clock, ok := source.(scanners.Clock); ok {
		before := time.Now()
		if server, err := clock.Clock(ctx); err == nil {
			check.Clock = &SourceClock{Server: server, Before: before, After: time.Now()}
		}
	}
	if certified, ok := source.(scanners.Certified); ok {
		check.Certificates = certified.Certificates()
	}
	auditor, ok := source.(scanners.Auditor)
	if !ok {
		check.Unasked = true
		return check
	}
	dangers, err := auditor.Dangers(ctx)
	if err != nil {
		check.Error = fmt.Sprintf("the source does not say what its user may do: %v", err)
		return check
	}
	check.Dangers = append(check.Dangers, dangers...)
	return check
}
