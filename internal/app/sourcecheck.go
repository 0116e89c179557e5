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

// CheckSources connects to every source and asks what its user may do beside reading. It never fails as a whole: a source that cannot be reached says so itself.
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
