package logging

import (
	"io"
	"log/slog"
	"strings"
)

// New makes the log of a node, and its level. With the format json the lines are JSON, otherwise text. A change of the
// level counts from the next line on.
func New(w io.Writer, format string, level slog.Level) (*slog.Logger, *slog.LevelVar) {
	v := &slog.LevelVar{}
	v.Set(level)
	options := &slog.HandlerOptions{Level: v}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options)), v
	}
	return slog.New(slog.NewTextHandler(w, options)), v
}

// levels are the possible levels of a log. The level that writes the most lines comes first.
var levels = []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}

// Levels returns the names of the levels. The level that writes the most lines comes first.
func Levels() []string {
	names := make([]string, len(levels))
	for i, l := range levels {
		names[i] = LevelName(l)
	}
	return names
}

// LevelName returns the name of a level, as settings, the API and the command line write it.
func LevelName(l slog.Level) string { return strings.ToLower(l.String()) }

// ParseLevel reads the name of a level. false means there is no level with that name.
func ParseLevel(name string) (slog.Level, bool) {
	for _, l := range levels {
		if LevelName(l) == name {
			return l, true
		}
	}
	return 0, false
}
