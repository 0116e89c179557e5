package config

import (
	"slices"
	"strings"
	"time"

	"tallyman/internal/settings"
	"tallyman/scanners"
)

// Driver is a kind of database.
type Driver string

// The drivers of a ledger. A source may have further ones.
const (
	Postgres Driver = "postgres"
	SQLite   Driver = "sqlite"
)

// Ledger is Tallyman's own database.
type Ledger struct {
	Driver    Driver        `yaml:"-"`
	URL       Secret        `yaml:"url"` // postgres: the whole URL
	Path      string        `yaml:"-"`   // sqlite: the file, absolute
	Retention time.Duration `yaml:"retention" min:"24h"`
}

const ledgerForms = "sqlite:FILE, or postgres://user@host/database"

func (l *Ledger) check(at settings.Section, load *loader) {
	where := at.In("url")
	if where.IsBad() || load.IsOpen(where) {
		return
	}
	address := l.URL.Reveal()
	scheme, file, _ := strings.Cut(address, ":")
	switch {
	case scanners.HasDatabase("postgres", "postgresql")(address):
		l.Driver = Postgres
	case scheme == string(SQLite) && scanners.IsFileName(file):
		l.Driver, l.Path = SQLite, load.Resolve(file)
	case slices.Contains([]string{"mysql", "mariadb", "sqlserver"}, scheme):
		where.Fail(CodeNotAvailable, "ledger.url: a ledger in "+scheme+" is not available", ledgerForms)
	default:
		where.Fail(CodeURL, "ledger.url names no database that can be a ledger", ledgerForms)
	}
}
