package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"slices"

	"tallyman/internal/config"
	"tallyman/internal/delivery"
	"tallyman/sinks"
)

// CheckChannels makes each push channel of the configuration and closes it again, without connecting to anything: it tells what is
// wrong with their addresses, templates and certificates before they are needed.
func CheckChannels(cfg *config.Config) error {
	site := sinks.Site{Book: nobody{}, Stdout: io.Discard, Logger: slog.New(slog.DiscardHandler)}
	var problems []error
	for name, s := range channelsOf(cfg.Sinks) {
		channel, err := s.Open(site)
		if err != nil {
			problems = append(problems, fmt.Errorf("sinks.%s: %w", name, err))
			continue
		}
		channel.Close()
	}
	return errors.Join(problems...)
}

// nobody is an address book without entries.
type nobody struct{}

func (nobody) Subscribers(context.Context, []string) (map[string]delivery.Subscriber, error) {
	return map[string]delivery.Subscriber{}, nil
}

// channelsOf are the push channels, in the order of their names.
func channelsOf(configured config.Sinks) iter.Seq2[string, sinks.ChannelSettings] {
	return func(yield func(string, sinks.ChannelSettings) bool) {
		for _, name := range slices.Sorted(maps.Keys(configured)) {
			if s, ok := configured[name].(sinks.ChannelSettings); ok && !yield(name, s) {
				return
			}
		}
	}
}
