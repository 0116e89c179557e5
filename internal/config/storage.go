package config

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/settings"
	"tallyman/rules/strictyaml"
	"tallyman/scanners"
)

// Driver is the name of a database driver.
type Driver string

// The drivers of a ledger. Sources have more drivers.
const (
	Postgres Driver = "postgres"
	SQLite   Driver = "sqlite"
)

// Ledger is Tallyman's own database.
type Ledger struct {
	Driver    Driver        `yaml:"-"`
	URL       Secret        `yaml:"url" doc:"sqlite:FILE is for one node. Several nodes share postgres://user:password@host:5432/database; a primary and its standbys are host1:5432,host2:5432."`
	Path      string        `yaml:"-"` // sqlite: the file, absolute
	Retention time.Duration `yaml:"retention" min:"24h" doc:"How long the ledger keeps finished deliveries and their notices, and the history of finished items. Of each rule and scope it keeps the last 100 runs, for as long as this at most."`
}

const defaultLedger = "sqlite:tallyman.db" // the file lies beside the configuration

const ledgerForms = "sqlite:FILE, postgres://user@host/database, or postgres://user@host1:5432,host2:5432/database"

func (l *Ledger) check(at settings.Section, load *loader) {
	where := at.In("url")
	if where.IsBad() || load.IsOpen(where) {
		return
	}
	address := l.URL.Reveal()
	scheme, file, _ := strings.Cut(address, ":")
	switch {
	case isPostgres(address):
		l.Driver = Postgres
		if attrs := sessionAttrs(address); attrs != "" && !slices.Contains(primaryAttrs, attrs) {
			where.Fail(CodeURL, "ledger.url asks for a server that may be a standby, which cannot be the ledger", "target_session_attrs takes read-write or primary")
		}
	case scheme == string(SQLite) && scanners.IsFileName(file):
		l.Driver, l.Path = SQLite, load.Resolve(file)
	case slices.Contains([]string{"mysql", "mariadb", "sqlserver"}, scheme):
		where.Fail(CodeNotAvailable, "ledger.url: a ledger in "+scheme+" is not available", ledgerForms)
	default:
		where.Fail(CodeURL, "ledger.url names no database that can be a ledger", ledgerForms)
	}
}

// isPostgres tells whether the address is a URL of a PostgreSQL database. The URL may name several hosts, which net/url
// cannot parse.
func isPostgres(address string) bool {
	scheme, rest, _ := strings.Cut(address, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		return false
	}
	begin := strings.LastIndexByte(rest[:end], '@') + 1
	for host := range strings.SplitSeq(rest[begin:end], ",") {
		if !scanners.HasDatabase("postgres", "postgresql")(scheme + "://" + rest[:begin] + host + rest[end:]) {
			return false
		}
	}
	return true
}

// primaryAttrs are the values of target_session_attrs that only a primary meets.
var primaryAttrs = []string{"read-write", "primary"}

// sessionAttrs returns target_session_attrs of the address. Empty means it is not set.
func sessionAttrs(address string) string {
	_, text, _ := strings.Cut(address, "?")
	query, err := url.ParseQuery(text)
	if err != nil {
		return ""
	}
	return query.Get("target_session_attrs")
}

// Embedded is the redis.url of the Redis inside the process.
const Embedded = "embedded"

// Notes implements strictyaml.Noter.
func (l *Ledger) Notes() map[string]strictyaml.Note {
	return map[string]strictyaml.Note{"url": {Takes: ledgerForms, Default: defaultLedger}}
}

// Redis is the server with the inboxes and the queues.
type Redis struct {
	URL    RedisURL `yaml:"url" doc:"embedded: a Redis inside the process, for one node. Or the address of a server, or a list: a Cluster, or the Sentinels where the first address has ?master_name=NAME."`
	Prefix string   `yaml:"prefix" doc:"What every key begins with. So several installations can share a server."`
}

// Notes implements strictyaml.Noter.
func (r *Redis) Notes() map[string]strictyaml.Note {
	return map[string]strictyaml.Note{"url": {Default: Embedded}, "prefix": {Takes: prefixForm}}
}

// RedisURL is Embedded, one server, or a list. A list names the servers of a Cluster. Where its first URL has
// ?master_name=NAME, it names the Sentinels of that primary.
type RedisURL struct {
	URLs []Secret
	List bool // The configuration has a list, perhaps of one URL.
}

const redisForms = "embedded, an address (redis://host:6379/0 or rediss://…), or a list of addresses"

// Takes says what an address of Redis may be.
func (r RedisURL) Takes() string { return redisForms }

// DecodeYAML reads one address or a list of addresses. A list from the environment or from a flag is one text with
// commas.
func (r *RedisURL) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	*r = RedisURL{List: n.Kind == strictyaml.Sequence}
	if r.List {
		d.Value(name, n, &r.URLs)
		// A lazy load leaves open URLs empty.
		r.URLs = slices.DeleteFunc(r.URLs, func(s Secret) bool { return s == Secret{} })
		return
	}
	list := []*strictyaml.Node{n}
	if n.Origin != "" && n.Kind == strictyaml.Scalar {
		list = n.Split()
		r.List = len(list) > 1
	}
	for _, one := range list {
		var u Secret
		d.Value(name, one, &u)
		if u != (Secret{}) {
			r.URLs = append(r.URLs, u)
		}
	}
}

const prefixForm = "1 to 64 of A-Z a-z 0-9 _ . : -"

var prefixPattern = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`)

func (r *Redis) check(at settings.Section) {
	if !prefixPattern.MatchString(r.Prefix) {
		at.In("prefix").Fail(CodeName, "redis.prefix takes "+prefixForm, "for example tallyman:")
	}
	where := at.In("url")
	if r.Embedded() || where.IsBad() || settings.IsOpen(where) {
		return
	}
	if len(r.URL.URLs) == 0 {
		where.Fail(CodeURL, "redis.url is an empty list", redisForms)
		return
	}
	if _, err := r.Options(); err != nil {
		where.Fail(CodeURL, "redis.url "+err.Error(), redisForms)
	}
}

// Embedded tells whether Redis runs inside the process.
func (r *Redis) Embedded() bool {
	return !r.URL.List && len(r.URL.URLs) == 1 && r.URL.URLs[0].Reveal() == Embedded
}

// errRedisURL does not show the URL, which may have a password.
var errRedisURL = errors.New("is no address of a Redis server")

// Options returns the options for redis.NewUniversalClient. User, password, database and TLS come from the first URL.
func (r *Redis) Options() (*redis.UniversalOptions, error) {
	o := &redis.UniversalOptions{IsClusterMode: r.URL.List}
	for i, secret := range r.URL.URLs {
		u, err := url.Parse(secret.Reveal())
		if err != nil {
			return nil, errRedisURL
		}
		q := u.Query()
		master, user, password := q.Get("master_name"), q.Get("sentinel_username"), q.Get("sentinel_password")
		for _, name := range []string{"master_name", "sentinel_username", "sentinel_password"} {
			q.Del(name)
		}
		u.RawQuery = q.Encode()
		one, err := redis.ParseURL(u.String())
		if err != nil {
			return nil, errRedisURL
		}
		o.Addrs = append(o.Addrs, one.Addr)
		if i > 0 {
			continue
		}
		o.Username, o.Password, o.DB, o.TLSConfig = one.Username, one.Password, one.DB, one.TLSConfig
		if master != "" {
			o.MasterName, o.SentinelUsername, o.SentinelPassword = master, user, password
			o.IsClusterMode = false
		}
	}
	return o, nil
}
