package mysql

import (
	"cmp"
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// deadlineGrace is how long the client waits for an answer beyond the server's own timeout.
const deadlineGrace = 2 * time.Second

// Source is a MariaDB or MySQL database.
type Source struct {
	*sqldb.Source
	*sqldb.Handshakes
	dialect *dialect
}

var _ scanners.Certified = (*Source)(nil)

// Open returns a source. The source connects when it is first used, so the only errors are those of the URL.
func Open(config Config) (*Source, error) {
	if err := config.CheckURL(); err != nil {
		return nil, err
	}
	a, err := parseURL(config.URL)
	if err != nil {
		return nil, err
	}
	handshakes := &sqldb.Handshakes{}
	handshakes.Watch(a.driver.TLS)
	if _, err := mysql.NewConnector(a.driver); err != nil {
		return nil, urlError(fmt.Errorf("the URL of the source: %w", err))
	}
	connector := sqldb.NewWires(mysql.MySQLDriver{}, func(dial sqldb.Dial) driver.Connector {
		c := a.driver.Clone()
		c.DialFunc = dial
		connector, err := mysql.NewConnector(c)
		if err != nil {
			return refusal{err} // cannot happen: the same configuration was accepted above
		}
		return connector
	})
	d := &dialect{connector: connector, database: a.driver.DBName, location: config.Zone(), functions: scanners.Functions{Source: config.Functions.Source}}
	for _, name := range config.Functions.Allowed {
		d.functions.Allowed = append(d.functions.Allowed, strings.ToLower(name))
	}
	return &Source{
		Handshakes: handshakes,
		dialect:    d,
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

// dialect is the part of the driver that is specific to MySQL.
type dialect struct {
	connector driver.Connector
	database  string
	location  *time.Location
	functions scanners.Functions // names in lower case
}

// kill sends KILL on a new connection, because all connections of the pool may be in use. If KILL fails, the server's
// timeout ends the statement.
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

// Driver declares the driver.
var Driver = scanners.Driver{
	Name: "mysql", Covers: "MariaDB", Address: "mysql://user@host:3306/database", Wrong: "is no address of MySQL or MariaDB",
	IsAddress: scanners.HasDatabase("mysql"), LooksUpFunctions: true,
	Open:    func(_ context.Context, c scanners.Config) (scanners.Source, error) { return scanners.Opened(Open(c)) },
	Scratch: Scratch,
}

// Config is one configured source. Its URL is mysql://user:password@host:port/database. Options: tls (true,
// skip-verify, preferred, false), socket (a path), connect_timeout (seconds).
type Config = scanners.Config

// sourceAddress is a parsed URL.
type sourceAddress struct {
	driver         *mysql.Config
	connectTimeout time.Duration
}

const urlHint = "write mysql://user:password@host:3306/database; in a password, write # as %23, / as %2F, @ as %40, : as %3A" //nolint:gosec // an example

func urlError(err error) error {
	return &scanners.Error{Code: scanners.CodeUnreachable, Hint: urlHint, Err: err}
}

// parseURL reads the URL. No error shows the URL, because a part that cannot be read may be the password.
func parseURL(text string) (*sourceAddress, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, urlError(errors.New("the URL of the source cannot be read"))
	}
	name := strings.Trim(u.Path, "/")
	if u.Scheme != "mysql" || u.Opaque != "" || name == "" || strings.Contains(name, "/") {
		return nil, urlError(errors.New("the URL of the source is not one of MySQL or MariaDB with a database"))
	}
	c := mysql.NewConfig()
	c.Logger = &mysql.NopLogger{}
	c.Net, c.Addr = "tcp", net.JoinHostPort(cmp.Or(u.Hostname(), "127.0.0.1"), cmp.Or(u.Port(), "3306"))
	c.DBName, c.User = name, u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.ConnectionAttributes = "program_name:tallyman"
	a := &sourceAddress{driver: c}
	for option, values := range u.Query() {
		if err := a.set(option, values[len(values)-1]); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (a *sourceAddress) set(option, value string) error {
	switch option {
	case "tls":
		if value != "true" && value != "skip-verify" && value != "preferred" && value != "false" {
			return urlError(errors.New("the option tls of the source must be true, skip-verify, preferred or false"))
		}
		if value != "false" {
			a.driver.TLS = &tls.Config{InsecureSkipVerify: value != "true"} //nolint:gosec // the operator's choice
		}
		a.driver.AllowFallbackToPlaintext = value == "preferred"
	case "socket":
		a.driver.Net, a.driver.Addr = "unix", value
	case "connect_timeout":
		seconds, err := strconv.Atoi(value)
		if err != nil || seconds < 1 {
			return urlError(errors.New("the option connect_timeout of the source must be a whole number of seconds, at least 1"))
		}
		a.connectTimeout = time.Duration(seconds) * time.Second
	default:
		return urlError(fmt.Errorf("the URL of the source has the unknown option %q; the options are tls, socket and connect_timeout", option))
	}
	return nil
}

// zone returns the source's time zone as SET time_zone takes it. A server without time zone tables knows offsets only,
// so UTC is written as an offset.
func (d *dialect) zone() string {
	if d.location == time.UTC {
		return "+00:00"
	}
	return d.location.String()
}
