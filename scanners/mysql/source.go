package mysql

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// deadlineGrace is how long after the server's own timeout the client gives up on its answer.
const deadlineGrace = 2 * time.Second

// Source is a MariaDB or MySQL database.
type Source struct {
	*sqldb.Source
	dialect *dialect
}

// Open makes a source. It connects when it is first used, so only a URL that cannot be read is an error.
func Open(config Config) (*Source, error) {
	a, err := parseURL(config.URL)
	if err != nil {
		return nil, err
	}
	if _, err := mysql.NewConnector(a.driver); err != nil {
		return nil, urlError(fmt.Errorf("the URL of the source: %w", err))
	}
	connector := sqldb.NewWires(mysql.MySQLDriver{}, func(dial sqldb.Dial) driver.Connector {
		c := a.driver.Clone()
		c.DialFunc = dial
		connector, err := mysql.NewConnector(c)
		if err != nil {
			return refusal{err} // not of a configuration that was taken above
		}
		return connector
	})
	d := &dialect{connector: connector, database: a.driver.DBName, location: a.location, zone: a.zone, functions: scanners.Functions{Source: config.Functions.Source}}
	for _, name := range config.Functions.Allowed {
		d.functions.Allowed = append(d.functions.Allowed, strings.ToLower(name))
	}
	return &Source{
		dialect: d,
		Source: sqldb.New(sqldb.Config{
			Dialect: d, Connector: connector, MaxConnections: config.MaxConnections, StatementTimeout: config.StatementTimeout,
			ConnectTimeout: a.connectTimeout, Grace: deadlineGrace, Secrets: []string{a.driver.Passwd}, Limits: config.Limits,
		}),
	}, nil
}

// refusal is a connector that never connects.
type refusal struct{ err error }

// Connect is called by database/sql.
func (r refusal) Connect(context.Context) (driver.Conn, error) { return nil, r.err }

// Driver is called by database/sql.
func (r refusal) Driver() driver.Driver { return mysql.MySQLDriver{} }

// dialect is what MySQL does its own way.
type dialect struct {
	connector driver.Connector
	database  string
	location  *time.Location
	zone      string
	functions scanners.Functions // by names in lower case
}

// kill sends KILL on a connection of its own: the pool's may all be in use. What fails is left to the server's clock.
func (d *dialect) kill(ctx context.Context, what string, id int64) error {
	conn, err := d.connector.Connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	execer, ok := conn.(driver.ExecerContext)
	if !ok {
		return errDriver
	}
	_, err = execer.ExecContext(ctx, fmt.Sprintf("KILL %s %d", what, id), nil)
	return err
}
