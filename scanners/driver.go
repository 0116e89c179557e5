package scanners

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Driver declares a kind of database: its package has one, and a table in internal/app names it. Nothing else knows the drivers.
type Driver struct {
	Name    string // as sources.<name>.driver has it
	Covers  string // another product that the driver serves, in its own spelling; "" = none
	Address string // the form of an address
	Wrong   string // what an address of another form is, after its name: "is no PostgreSQL address"
	IsFile  bool   // the address is Name, a colon and a file, which is relative to the configuration
	// IsAddress tells whether the text has the form. It returns no error: what cannot be read cannot be told from its password.
	IsAddress func(address string) bool
	// LooksUpFunctions says that probes may call only functions that are known to read, and those that the source allows.
	LooksUpFunctions bool
	// Open makes a source. It connects when it is first used.
	Open func(ctx context.Context, c Config) (Source, error)
}

// Config is one configured source.
type Config struct {
	URL              string        // each driver's package says its form and its options
	MaxConnections   int           // scans at once; others wait. 0 = 4
	StatementTimeout time.Duration // of a scan without a timeout of its own, and of Prepare. 0 = 30s
	Limits           Limits
	Functions        Functions // of drivers that look functions up
}

// HasDatabase returns an IsAddress: a URL with one of the schemes and a path.
func HasDatabase(schemes ...string) func(string) bool {
	return func(address string) bool {
		u, err := url.Parse(address)
		return err == nil && slices.Contains(schemes, u.Scheme) && strings.Trim(u.Path, "/") != ""
	}
}

// IsFileName refuses what SQLite would read as something else than a file: nothing of it would be there after a restart.
func IsFileName(s string) bool {
	return s != "" && s != ":memory:" && !strings.ContainsAny(s, "?#\x00")
}

// Opened gives a source that could not be made as none: a nil of its type would be one.
func Opened[S Source](s S, err error) (Source, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
