package enginetest

import (
	"context"
	"maps"
	"slices"

	"tallyman/internal/finding"
)

// Findings returns the open findings.
func (l *firingStore) Findings(ctx context.Context, rule, name string) ([]finding.State, error) {
	return l.open(ctx, "Findings", rule, name)
}

// open returns the open findings, for the method of that name.
func (l *firingStore) open(ctx context.Context, method, rule, name string) ([]finding.State, error) {
	leave, err := l.enter(ctx, method)
	if err != nil {
		return nil, err
	}
	defer leave()
	s := l.scopes[scopeID{rule, name}]
	if s == nil {
		return nil, nil
	}
	return slices.Collect(maps.Values(s.findings)), nil
}

// Open returns the outlines of the open findings.
func (l *firingStore) Open(ctx context.Context, rule, name string) (*finding.Open, error) {
	list, err := l.open(ctx, "Open", rule, name)
	return finding.NewOpen(list), err
}

// OpenFindings returns the open findings with these hashes.
func (l *firingStore) OpenFindings(ctx context.Context, rule, name string, keys []finding.Hash) ([]finding.State, error) {
	list, err := l.open(ctx, "OpenFindings", rule, name)
	return slices.DeleteFunc(list, func(st finding.State) bool { return !slices.Contains(keys, finding.HashOf(st.Key)) }), err
}

// Carriers returns how many open findings carry each of the notices.
func (l *firingStore) Carriers(ctx context.Context, rule, name string, notices []string) (map[string]int, error) {
	list, err := l.open(ctx, "Carriers", rule, name)
	out := map[string]int{}
	for i := range list {
		if id := list[i].NoticeID; slices.Contains(notices, id) {
			out[id]++
		}
	}
	return out, err
}
