package app

import (
	"context"
	"fmt"

	"tallyman/internal/config"
	"tallyman/scanners"
)

// source is an open source and since when it is as it is.
type source struct {
	scanners.Source
	health health
}

// openSources opens every source. None is connected yet: one that is out of reach concerns its own rules only.
func openSources(ctx context.Context, configured map[string]config.Source) (map[string]*source, error) {
	open := map[string]*source{}
	for name, c := range configured {
		s, err := openSource(ctx, name, c)
		if err != nil {
			for _, other := range open {
				_ = other.Close() // the first error is the one to tell
			}
			return nil, fmt.Errorf("open source %s: %w", name, err)
		}
		open[name] = &source{Source: s}
	}
	return open, nil
}

func openSource(ctx context.Context, name string, c config.Source) (scanners.Source, error) {
	for _, d := range Types().Drivers {
		if d.Name == string(c.Driver) {
			return d.Open(ctx, scanners.Config{
				URL: c.Address(), MaxConnections: c.MaxConnections, StatementTimeout: c.StatementTimeout,
				Limits:    scanners.Limits{Cell: c.MaxCellBytes, Row: c.MaxRowBytes},
				Functions: scanners.Functions{Source: name, Allowed: c.Functions},
			})
		}
	}
	return nil, fmt.Errorf("there is no driver %q", c.Driver)
}

func scannerSources(open map[string]*source) map[string]scanners.Source {
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
