package app

import (
	"slices"

	"tallyman/internal/config"
	"tallyman/scanners"
	"tallyman/scanners/mysql"
	"tallyman/scanners/oracle"
	"tallyman/scanners/postgres"
	"tallyman/scanners/sqlite"
	"tallyman/scanners/sqlserver"
	"tallyman/sinks"
	"tallyman/sinks/chat"
	"tallyman/sinks/inbox"
	"tallyman/sinks/mail"
	"tallyman/sinks/queue"
	"tallyman/sinks/stdout"
	"tallyman/sinks/webhook"
)

// Types returns the types of sinks and the drivers of sources, in the order in which hints name them. To add one, add a
// line here.
func Types() config.Types {
	return config.Types{
		Sinks:   []sinks.Type{inbox.Type, queue.Type, webhook.Type, mail.Type, chat.Type, stdout.Type},
		Drivers: []scanners.Driver{postgres.Driver, mysql.Driver, sqlserver.Driver, oracle.Driver, sqlite.Driver},
	}
}

// sinkTypeNames returns the names of the sink types of the kinds, in the order of Types.
func sinkTypeNames(kinds ...sinks.Kind) []string {
	var names []string
	for _, t := range Types().Sinks {
		if slices.Contains(kinds, t.New().Kind()) {
			names = append(names, t.Name)
		}
	}
	return names
}

// LoadConfig reads, merges and checks a configuration with the types of this program; see config.Load.
func LoadConfig(o config.Options) (*config.Config, error) {
	o.Types = Types()
	return config.Load(o)
}

// DefaultConfig returns the default of every setting.
func DefaultConfig() config.Config { return config.Default(Types()) }
