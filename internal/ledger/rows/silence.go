package rows

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tallyman/internal/ledger"
	"tallyman/internal/silence"
)

// Silence is a row of silences.
type Silence struct {
	ID, Matchers    string
	From, Until     int64
	Cron, Timezone  string
	Duration        int64
	Comment, Author string
	Created, Ended  int64
	EndedBy         string
	Events          int64
}

// Columns returns pointers to the fields in the order of the columns that the queries of silences name.
func (s *Silence) Columns() []any {
	return []any{
		&s.ID, &s.Matchers, &s.From, &s.Until, &s.Cron, &s.Timezone, &s.Duration, &s.Comment, &s.Author, &s.Created,
		&s.Ended, &s.EndedBy, &s.Events,
	}
}

// SilenceArgs returns the columns that add-silence takes.
func SilenceArgs(s *silence.Silence) ([]any, error) {
	texts := make([]string, len(s.Matchers))
	for i, m := range s.Matchers {
		texts[i] = m.String()
	}
	matchers, err := json.Marshal(texts)
	if err != nil {
		return nil, fmt.Errorf("ledger: the matchers of silence %s: %w", s.ID, err)
	}
	var w silence.Window
	if s.Window != nil {
		w = *s.Window
	}
	return []any{
		s.ID, string(matchers), Micros(s.From), Micros(s.Until), w.Cron, w.Timezone, w.Duration.Microseconds(), s.Comment,
		s.Author, Micros(s.Created),
	}, nil
}

// Silence is the row as the engine sees it.
func (s *Silence) Silence() (silence.Silence, error) {
	out := silence.Silence{
		ID: s.ID, From: Time(s.From), Until: Time(s.Until), Comment: s.Comment, Author: s.Author, Created: Time(s.Created),
		Ended: Time(s.Ended), EndedBy: s.EndedBy, Events: s.Events,
	}
	var texts []string
	if err := json.Unmarshal([]byte(s.Matchers), &texts); err != nil {
		return out, fmt.Errorf("ledger: the matchers of silence %s: %w", s.ID, err)
	}
	for _, text := range texts {
		m, err := silence.ParseMatcher(text)
		if err != nil {
			return out, fmt.Errorf("ledger: silence %s: %w", s.ID, err)
		}
		out.Matchers = append(out.Matchers, m)
	}
	if s.Cron != "" {
		var err error
		if out.Window, err = silence.NewWindow(s.Cron, s.Timezone, Span(s.Duration)); err != nil {
			return out, fmt.Errorf("ledger: silence %s: %w", s.ID, err)
		}
	}
	return out, nil
}

// HeldBack adds up what silences hold back.
type HeldBack map[string]ledger.HeldBack

// Findings counts findings that the silences, separated by spaces, hold back together.
func (h HeldBack) Findings(ids string, n int) {
	for id := range strings.FieldsSeq(ids) {
		one := h[id]
		one.Findings += n
		h[id] = one
	}
}

// Deliveries counts deliveries that the silence holds back.
func (h HeldBack) Deliveries(id string, n int) {
	one := h[id]
	one.Deliveries += n
	h[id] = one
}

// SilencesOf returns the ids of silences that have dropped events, in the order in which all commits lock them.
func SilencesOf(dropped map[string]int) []string { return slices.Sorted(maps.Keys(dropped)) }
