package config

import "time"

// Config is a whole configuration, checked: what Load returns can be used as it is.
type Config struct {
	File          string // where it was read from, absolute
	HTTP          HTTP
	Auth          Auth
	Redis         Redis
	Ledger        Ledger
	Rules         Rules
	Types         Types
	Sources       map[string]Source
	Sinks         map[string]Sink
	Telemetry     Telemetry
	Subscriptions []Subscription // the seed, applied when the ledger never had any

	open open // of a lazy load
}

// Driver is a kind of database.
type Driver string

// The drivers.
const (
	Postgres Driver = "postgres"
	MySQL    Driver = "mysql" // MariaDB too
	SQLite   Driver = "sqlite"

	SQLServer Driver = "sqlserver"
	Oracle    Driver = "oracle"
)

// Ledger is Tallyman's own database.
type Ledger struct {
	Driver    Driver
	URL       Secret        // postgres: the whole URL
	Path      string        // sqlite: the file, absolute
	Retention time.Duration // how long finished deliveries and their notices are kept
}

// Rules says where the rules files are.
type Rules struct {
	Paths []string // files or folders, absolute
}

// Types says where the type catalogue is.
type Types struct {
	Path string // absolute
}

// Source is a database that probes read.
type Source struct {
	Driver           Driver
	URL              Secret // the whole URL, but of sqlite
	Path             string // sqlite: the file, absolute
	MaxConnections   int
	StatementTimeout time.Duration // what a probe without a timeout of its own gets
	MaxCellBytes     int           // of one value of a row
	MaxRowBytes      int           // of all values of a row together
	Functions        []string      // that probes may call though they may do more than read: name of the database's own, schema.name of others
}

// Subscription is (type, warehouse or "*") → subscriber.
type Subscription struct {
	Type       string
	Warehouse  string
	Subscriber string // user:<id> or role:<id>
}

// Default is what applies where nothing is said.
func Default() Config {
	return Config{
		HTTP:   defaultHTTP(),
		Auth:   Auth{Mode: AuthNone},
		Redis:  Redis{URLs: []Secret{NewSecret(Embedded)}, Prefix: "tallyman:"},
		Ledger: Ledger{URL: NewSecret("sqlite:tallyman.db"), Retention: 90 * 24 * time.Hour},
		Rules:  Rules{Paths: []string{"rules"}},
		Types:  Types{Path: "types.yaml"},
		Sinks:  map[string]Sink{"inbox": {Type: SinkInbox}},

		Telemetry: Telemetry{Traces: Traces{Sample: 1}},
	}
}

// defaultSource is what a source has where nothing is said.
func defaultSource() Source {
	return Source{MaxConnections: 4, StatementTimeout: 30 * time.Second, MaxCellBytes: 1 << 20, MaxRowBytes: 4 << 20}
}
