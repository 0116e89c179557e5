package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"tallyman/internal/config"
	"tallyman/scanners"
)

// sourceEntry is an open source and since when it is as it is.
type sourceEntry struct {
	scanners.Source
	health health
}

// openSources opens every source. None is connected yet: one that is out of reach concerns its own rules only.
func openSources(ctx context.Context, configured map[string]config.Source) (map[string]*sourceEntry, error) {
	open := map[string]*sourceEntry{}
	for name, c := range configured {
		s, err := openSource(ctx, name, c)
		if err != nil {
			for _, other := range open {
				_ = other.Close() // the first error is the one to tell
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

// connections says how many runs a source has room for: as many as it may have connections.
func connections(configured map[string]config.Source) map[string]int {
	list := map[string]int{}
	for name, c := range configured {
		list[name] = c.MaxConnections
	}
	return list
}

const (
	checkedSources = 4                // that are asked at a time
	reachTimeout   = 10 * time.Second // for the first answer of a source
)

// SourceCheck is what a source has said of its user.
type SourceCheck struct {
	Name    string            `json:"name"`
	Driver  string            `json:"driver"`
	Error   string            `json:"error,omitempty"` // why it could not be asked; "" where it was
	Unasked bool              `json:"unasked"`         // its database does not say what a user may do
	Dangers []scanners.Danger `json:"dangers"`
}

// CheckSources connects to every source and asks what its user may do beside reading. It never fails as a whole: a
// source that cannot be reached says so itself.
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
	_ = g.Wait() // no error: each check has its own
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
