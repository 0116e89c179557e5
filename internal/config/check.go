package config

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

// The codes of what a configuration may not say.
const (
	CodeNotAvailable = "not_available" // a part of Tallyman that does not exist yet
	CodeAuthNone     = "auth_none_not_loopback"
	CodeListen       = "bad_listen_address"
	CodeURL          = "bad_url"
	CodeName         = "bad_name"
	CodeSubscriber   = "bad_subscriber"
	CodeInboxes      = "several_inboxes"
)

const day = 24 * time.Hour

var (
	namePattern       = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
	subscriberPattern = regexp.MustCompile(`^(user|role):[A-Za-z0-9][A-Za-z0-9_.@-]{0,127}$`)
	prefixPattern     = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`)
)

// check looks at the values of the sections; sources, sinks and subscriptions were checked one by one.
func (d *decoder) check(c *Config) {
	d.checkAuth(c)
	d.checkHTTP(&c.HTTP)
	d.checkRedis(c.Redis)
	d.checkLedger(&c.Ledger)
	d.checkInboxes(c.Sinks)
	d.checkPaths(c)
}

// checkInboxes keeps it clear which inbox polls are answered from.
func (d *decoder) checkInboxes(sinks map[string]Sink) {
	var inboxes []string
	for name, s := range sinks {
		if s.Type == SinkInbox {
			inboxes = append(inboxes, name)
		}
	}
	slices.Sort(inboxes)
	for _, name := range inboxes[min(1, len(inboxes)):] {
		d.failName(path{"sinks", name}, CodeInboxes, fmt.Sprintf("sinks.%s is a second inbox beside sinks.%s", name, inboxes[0]),
			"keep one: clients poll the inbox")
	}
}

func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

func (d *decoder) checkRedis(r Redis) {
	at := path{"redis", "url"}
	if !prefixPattern.MatchString(r.Prefix) {
		d.fail(path{"redis", "prefix"}, CodeName, "redis.prefix takes 1 to 64 of A-Z a-z 0-9 _ . : -", "for example tallyman:")
	}
	if r.Embedded() || d.bad(at) || d.open.has(at) {
		return
	}
	const forms = "embedded, redis://host:6379/0, rediss://…, or a list of these"
	if len(r.URLs) == 0 {
		d.fail(at, CodeURL, "redis.url is an empty list", forms)
		return
	}
	if _, err := r.Options(); err != nil {
		d.fail(at, CodeURL, "redis.url "+err.Error(), forms)
	}
}

func (d *decoder) checkLedger(l *Ledger) {
	at := path{"ledger", "url"}
	if d.bad(at) || d.open.has(at) {
		return
	}
	u := l.URL.Reveal()
	switch {
	case isPostgres(u):
		l.Driver = Postgres
	case strings.HasPrefix(u, "sqlite:") && isFileName(u[7:]):
		l.Driver, l.Path = SQLite, d.resolve(u[7:])
	case slices.Contains([]string{"mysql", "mariadb", "sqlserver"}, scheme(u)):
		d.fail(at, CodeNotAvailable, "ledger.url: a ledger in "+scheme(u)+" is not available", ledgerForms)
	default:
		d.fail(at, CodeURL, "ledger.url names no database that can be a ledger", ledgerForms)
	}
}

const ledgerForms = "sqlite:FILE, or postgres://user@host/database"

func scheme(u string) string { s, _, _ := strings.Cut(u, ":"); return s }

// isPostgres says nothing about a bad URL but that it is bad: it may hold a password.
func isPostgres(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql") && strings.Trim(u.Path, "/") != ""
}

// isFileName refuses what SQLite would read as something else than a file: nothing of it would be there after a restart.
func isFileName(s string) bool {
	return s != "" && s != ":memory:" && !strings.ContainsAny(s, "?#\x00")
}

// drivers are those that a source may have.
const drivers = "postgres, mysql (for MariaDB too), sqlserver, oracle or sqlite"

// isAddress says nothing about a bad URL but that it is bad: it may hold a password.
func isAddress(s string, scheme Driver) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme == string(scheme) && strings.Trim(u.Path, "/") != ""
}

// The least value, and the largest row, that a source may be bounded to.
const (
	leastCellBytes = 1 << 10
	mostRowBytes   = 1 << 30
)

// functionPattern is the name of one function, with its schema where it has one; a part with other characters is in double quotes. There are no wildcards: what
// a probe may call is named exactly.
var functionPattern = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_$]*|"[^"]+")(\.([A-Za-z_][A-Za-z0-9_$]*|"[^"]+")){0,2}$`)

func (d *decoder) checkFunctions(at path, driver Driver, names []string) {
	if len(names) > 0 && (driver == SQLServer || driver == Oracle) {
		d.fail(at, CodeNotAvailable, fmt.Sprintf("%s: the functions that a probe calls on %s are not looked up, so none has to be allowed", at, driver), "remove it")
	}
	for i, name := range names {
		if !functionPattern.MatchString(name) {
			d.fail(at.to(strconv.Itoa(i)), CodeName, fmt.Sprintf("%s: %q is no name of a function", at, name),
				"name, or schema.name, as the refusal of the probe prints the name; no wildcards")
		}
	}
}

func (d *decoder) checkSource(at path, s *Source) {
	d.checkFunctions(at.to("functions"), s.Driver, s.Functions)
	url := at.to("url")
	u := s.URL.Reveal()
	switch s.Driver {
	case "":
		d.missing(at, "driver")
		return
	case Postgres, MySQL, SQLServer, Oracle, SQLite:
	default:
		hint := problem.DidYouMean(string(s.Driver), []string{string(Postgres), string(MySQL), string(SQLServer), string(Oracle), string(SQLite)})
		switch {
		case s.Driver == "mariadb":
			hint = "mysql is the driver of MariaDB too"
		case hint == "":
			hint = drivers
		}
		d.fail(at.to("driver"), strictyaml.CodeEnum, fmt.Sprintf("%s.driver cannot be %q", at, s.Driver), hint)
		return
	}
	if s.MaxCellBytes > s.MaxRowBytes {
		d.fail(at.to("max_cell_bytes"), strictyaml.CodeOutOfRange,
			fmt.Sprintf("%s.max_cell_bytes is %d, more than the %d of a whole row", at, s.MaxCellBytes, s.MaxRowBytes), "raise max_row_bytes too")
	}
	switch {
	case d.open.has(url):
	case u == "":
		d.missing(at, "url")
	case s.Driver == Postgres && !isPostgres(u):
		d.fail(url, CodeURL, fmt.Sprintf("%s is no PostgreSQL address", url), "postgres://user@host:5432/database")
	case s.Driver == MySQL && !isAddress(u, MySQL):
		d.fail(url, CodeURL, fmt.Sprintf("%s is no address of MySQL or MariaDB", url), "mysql://user@host:3306/database")
	case s.Driver == SQLServer && !isAddress(u, SQLServer):
		d.fail(url, CodeURL, fmt.Sprintf("%s is no SQL Server address", url), "sqlserver://user@host:1433/database")
	case s.Driver == Oracle && !isAddress(u, Oracle):
		d.fail(url, CodeURL, fmt.Sprintf("%s is no Oracle address", url), "oracle://user@host:1521/service")
	case s.Driver == SQLite && (!strings.HasPrefix(u, "sqlite:") || !isFileName(u[7:])):
		d.fail(url, CodeURL, fmt.Sprintf("%s names no SQLite file", url), "sqlite:FILE")
	case s.Driver == SQLite:
		s.Path = d.resolve(u[7:])
	}
}

func (d *decoder) checkSubscription(at path, s Subscription) {
	for _, f := range []struct{ name, value string }{{"type", s.Type}, {"warehouse", s.Warehouse}, {"subscriber", s.Subscriber}} {
		if f.value == "" {
			d.missing(at, f.name)
		}
	}
	if s.Warehouse != "" && s.Warehouse != "*" && !namePattern.MatchString(s.Warehouse) {
		d.fail(at.to("warehouse"), CodeName, fmt.Sprintf("%q cannot be the name of a warehouse", s.Warehouse), "letters, digits, _ . - or * for all")
	}
	if s.Subscriber != "" && !subscriberPattern.MatchString(s.Subscriber) {
		d.fail(at.to("subscriber"), CodeSubscriber, fmt.Sprintf("%q is no subscriber", s.Subscriber), "user:<id> or role:<id>")
	}
}

func (d *decoder) checkName(at path, name string) {
	if !namePattern.MatchString(name) {
		d.failName(at, CodeName, fmt.Sprintf("%q cannot be a name", name),
			"1 to 64 letters, digits, _ . -, the first a letter or digit")
	}
}

// checkPaths makes the paths absolute. Whether the files are good is for those to say who read them.
func (d *decoder) checkPaths(c *Config) {
	if len(c.Rules.Paths) == 0 && !d.bad(path{"rules", "paths"}) {
		d.fail(path{"rules", "paths"}, strictyaml.CodeMissing, "rules.paths names no file or folder", "for example [rules]")
	}
	for i, p := range c.Rules.Paths {
		if p == "" {
			d.fail(path{"rules", "paths", strconv.Itoa(i)}, strictyaml.CodeMissing, "rules.paths has an empty path", "")
		}
		c.Rules.Paths[i] = d.resolve(p)
	}
	if c.Types.Path == "" {
		d.fail(path{"types", "path"}, strictyaml.CodeMissing, "types.path is empty", "for example types.yaml")
	}
	c.Types.Path = d.resolve(c.Types.Path)
}
