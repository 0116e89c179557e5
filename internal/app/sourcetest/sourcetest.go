// Package sourcetest runs the test suite of the drivers against the database server of a site (tallyman source test).
package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"tallyman/internal/app"
	"tallyman/scanners"
	"tallyman/scanners/scannertest"
)

// Target is the server that the suite runs against.
type Target struct {
	Driver string
	URL    string
	Schema string // The schema that the test makes and drops. Empty means the test makes nothing and runs only SELECTs.
}

// Report is the result of the suite. Report has no address, user or password of the site.
type Report struct {
	Driver  string
	Version string // The version of the server.
	Results []scannertest.Result
}

// Failed tells whether a check failed.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Results, func(c scannertest.Result) bool { return c.Outcome == scannertest.Failed })
}

// ErrUsage says that the command was used wrongly.
var ErrUsage = errors.New("source test")

const (
	reachTimeout = 10 * time.Second // The time limit of a statement.
	streamRows   = 20_000           // The rows of the long scan. Not more, because the site's server has other work.
	dropTimeout  = 30 * time.Second // The time limit for dropping the schema after an interruption.
)

// schemaName matches names that every database accepts without quotes.
var schemaName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,29}$`)

// Run runs the suite of the drivers against a server. Run returns an error where the test could not begin.
func Run(ctx context.Context, o Target) (*Report, error) {
	driver, err := driverOf(o)
	if err != nil {
		return nil, err
	}
	clean := redactor(o.URL)
	config := scanners.Config{URL: o.URL, StatementTimeout: reachTimeout}
	d := dialects()[driver.Name]
	d.Stream = streamRows
	plain := &database{driver: driver, config: config}
	d.New = func(scannertest.T) scannertest.Database { return plain }
	report := &Report{Driver: driver.Name}
	if report.Version, err = scannertest.Version(ctx, d); err != nil {
		return nil, fmt.Errorf("the server does not answer: %s", clean(err.Error()))
	}
	if driver.Name == "mysql" && !strings.Contains(report.Version, "MariaDB") {
		d.Kinds = nil // The JSON of this database is a type of its own.
	}
	allowed := scannertest.Selects
	if o.Schema != "" {
		allowed = scannertest.Tables
		// Make and drop the schema before the first check, so that a missing right is reported at once.
		scratch, err := driver.Scratch(ctx, config, o.Schema)
		if err == nil {
			err = dropScratch(ctx, scratch)
		}
		if err != nil {
			return nil, fmt.Errorf("make and drop schema %s: %s", o.Schema, clean(err.Error()))
		}
		d.New = func(t scannertest.T) scannertest.Database { return newScratch(t, driver, config, o.Schema) } //nolint:contextcheck // a check has the context from its T
	}
	scannertest.Judge(ctx, d, allowed, func(r scannertest.Result) {
		r.Detail = clean(r.Detail)
		report.Results = append(report.Results, r)
	})
	return report, nil
}

func driverOf(o Target) (*scanners.Driver, error) {
	var names []string
	for _, d := range app.Types().Drivers {
		names = append(names, d.Name)
		switch {
		case d.Name != o.Driver:
		case !d.IsAddress(o.URL):
			return nil, fmt.Errorf("%w: --url %s: write %s", ErrUsage, d.Wrong, d.Address)
		case o.Schema != "" && !schemaName.MatchString(o.Schema):
			return nil, fmt.Errorf("%w: --create-schema takes a name of up to 30 lower-case letters, digits and _, not %q", ErrUsage, o.Schema)
		default:
			return &d, nil
		}
	}
	return nil, fmt.Errorf("%w: --driver is one of %s, not %q", ErrUsage, strings.Join(names, ", "), o.Driver)
}

// dialects returns the dialects of the drivers, keyed by driver.
func dialects() map[string]scannertest.Dialect {
	return map[string]scannertest.Dialect{
		"postgres": scannertest.Postgres(), "mysql": scannertest.MySQL(true), "sqlite": scannertest.SQLite(), "sqlserver": scannertest.SQLServer(), "oracle": scannertest.Oracle(),
	}
}

// redactor returns a function that removes from a text everything that identifies the site: the parts of the address,
// network addresses, and the names that servers give to the client.
func redactor(address string) func(string) string {
	words := map[string]bool{}
	if u, err := url.Parse(address); err == nil {
		password, _ := u.User.Password()
		for _, word := range []string{address, u.Host, u.Hostname(), u.User.Username(), password, strings.Trim(u.Path, "/"), u.Opaque, folderOf(u.Path), folderOf(u.Opaque)} {
			words[word] = true
		}
	}
	delete(words, "")
	list := slices.SortedFunc(maps.Keys(words), func(a, b string) int { return len(b) - len(a) })
	return func(text string) string {
		for _, word := range list {
			whole := regexp.MustCompile(`(?i)(^|[^\pL\pN_])` + regexp.QuoteMeta(word) + `($|[^\pL\pN_])`)
			for before := ""; before != text; { // One character may end a word and begin the next.
				before, text = text, whole.ReplaceAllString(text, "${1}***${2}")
			}
		}
		return networkAddress.ReplaceAllString(text, "***")
	}
}

// folderOf returns the folder of a database file. The file of a schema is in that folder as well. folderOf is empty for
// the working folder.
func folderOf(path string) string {
	if folder := filepath.Dir(path); path != "" && folder != "." && folder != "/" {
		return folder
	}
	return ""
}

// networkAddress matches an IP address with its port, or the client as MySQL names it: @'host'.
var networkAddress = regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b|\[[0-9a-fA-F:]+\](:\d+)?|@'[^']*'`)

// database is the site's server as the suite sees it. Without a schema the suite only reads.
type database struct {
	driver *scanners.Driver
	config scanners.Config
	schema *scanners.Scratch // Nil means the suite makes no schema.
}

// newScratch makes the schema. The end of the check drops it.
func newScratch(t scannertest.T, driver *scanners.Driver, config scanners.Config, name string) *database {
	scratch, err := driver.Scratch(t.Context(), config, name)
	if err != nil {
		t.Fatalf("make schema %s: %v", name, err)
	}
	t.Cleanup(func() {
		if err := dropScratch(t.Context(), scratch); err != nil {
			t.Errorf("schema %s was not dropped, drop it by hand: %v", name, err)
		}
	})
	return &database{driver: driver, config: scratch.Config, schema: scratch}
}

// dropScratch drops the schema, even when the command was interrupted.
func dropScratch(ctx context.Context, scratch *scanners.Scratch) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()
	return scratch.Drop(ctx)
}

// Exec implements scannertest.Database.
func (d *database) Exec(t scannertest.T, sql string) {
	if d.schema == nil {
		t.Fatal("there is no schema to write to") // The check claims to need no schema, but writes.
		return
	}
	if err := d.schema.Exec(t.Context(), d.named(sql)); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// Open implements scannertest.Database.
func (d *database) Open(t scannertest.T, maxConnections int) scanners.Source {
	return d.open(t, maxConnections, scanners.Limits{})
}

// Limited implements scannertest.Database.
func (d *database) Limited(t scannertest.T, limits scanners.Limits) scanners.Source {
	return d.open(t, 1, limits)
}

func (d *database) open(t scannertest.T, maxConnections int, limits scanners.Limits) scanners.Source {
	config := d.config
	config.MaxConnections, config.Limits = maxConnections, limits
	source, err := d.driver.Open(t.Context(), config)
	if err != nil {
		t.Fatalf("open the source: %v", err)
	}
	t.Cleanup(func() { _ = source.Close() })
	if bare, ok := source.(bareSource); ok && d.schema != nil && !d.schema.Bare {
		return &namedSource{bare, d}
	}
	return source
}

// Cut skips the check: the site's server must stay in reach.
func (d *database) Cut(t scannertest.T) { t.Skip("the server stays in reach") }

// Restore implements scannertest.Database.
func (d *database) Restore(scannertest.T) {}

// Schema returns the schema of the tables that a check makes.
func (d *database) Schema() string { return d.schema.Schema }
