package config

import (
	"slices"

	"tallyman/rules/problem"
)

// open are the values that a lazy load could not read.
type open []openValue

type openValue struct {
	at    path
	found problem.List // why not
}

// has tells whether the value, or a part of it, is open.
func (o open) has(at path) bool { return len(o.below(at)) > 0 }

func (o open) below(at path) problem.List {
	var l problem.List
	for _, v := range o {
		if len(v.at) >= len(at) && slices.Equal(v.at[:len(at)], at) {
			l = append(l, v.found...)
		}
	}
	return l
}

// areOpen tells whether the problems are those of a value that is kept elsewhere, and not there.
func areOpen(found problem.List) bool {
	return len(found) > 0 && !slices.ContainsFunc(found, func(p problem.Problem) bool {
		return p.Code != CodeUnset && p.Code != CodeFile
	})
}

// Need returns why the part of a configuration that was loaded lazily cannot be used, as a problem.List: of one source
// Need("sources", name), of the ledger Need("ledger").
func (c *Config) Need(part ...string) error { return c.open.below(part).Err() }
