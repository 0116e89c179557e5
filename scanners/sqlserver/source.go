package sqlserver

import (
	"context"
	"database/sql/driver"
	"errors"
	"net"
	"net/url"
	"strconv"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// rowsAhead is how many rows the driver holds at most: five in its queue, one that was taken, and one that it reads.
const rowsAhead = 7

// Driver declares the driver.
var Driver = scanners.Driver{
	Name: "sqlserver", Address: "sqlserver://user@host:1433/database", Wrong: "is no SQL Server address",
	IsAddress: scanners.HasDatabase("sqlserver"),
	Open:      func(_ context.Context, c scanners.Config) (scanners.Source, error) { return scanners.Opened(Open(c)) },
	Scratch:   Scratch,
}

// Config is one configured source. Its URL is sqlserver://user:password@host:port/database. Options: instance, encrypt
// (true, false, strict, disable; default: true), trust_server_certificate (true, false), connect_timeout
// (seconds).
type Config = scanners.Config

// Source is a SQL Server database.
type Source struct {
	*sqldb.Source
	*sqldb.Handshakes
}

var _ scanners.Certified = (*Source)(nil)

// Open returns a source. The source connects when it is first used, so the only errors are those of the URL.
func Open(config Config) (*Source, error) {
	if err := config.CheckURL(); err != nil {
		return nil, err
	}
	address, err := parseAddress(config.URL)
	if err != nil {
		return nil, err
	}
	login, err := loginOf(&address)
	if err != nil {
		return nil, err
	}
	handshakes := &sqldb.Handshakes{}
	handshakes.Watch(login.TLSConfig)
	wires := sqldb.NewWires(mssql.NewConnectorConfig(login).Driver(), func(dial sqldb.Dial) driver.Connector {
		c := mssql.NewConnectorConfig(login)
		c.Dialer = dial
		return c
	})
	return &Source{Source: open(config, &address, wires, wires), Handshakes: handshakes}, nil
}

func parseAddress(text string) (sqldb.URL, error) {
	return sqldb.ParseURL(text, "sqlserver", "1433", "instance", "encrypt", "trust_server_certificate")
}

// open returns a source on any connector. wires may be nil.
func open(config Config, address *sqldb.URL, connector driver.Connector, wires *sqldb.Wires) *sqldb.Source {
	return sqldb.New(sqldb.Config{
		Dialect: &dialect{location: config.Zone(), wires: wires, limits: config.Limits.WithDefaults()}, Connector: connector,
		MaxConnections: config.MaxConnections, StatementTimeout: config.StatementTimeout, ConnectTimeout: address.ConnectTimeout,
		Secrets: []string{address.Password}, Limits: config.Limits, Ahead: rowsAhead,
	})
}

// loginOf makes the driver's settings from known options only.
func loginOf(address *sqldb.URL) (msdsn.Config, error) {
	trust, err := address.Bool("trust_server_certificate", false)
	if err != nil {
		return msdsn.Config{}, err
	}
	encrypt := address.Options["encrypt"]
	switch encrypt {
	case "":
		encrypt = "true"
	case "true", "false", "strict", "disable":
	default:
		return msdsn.Config{}, urlError("the option encrypt of the source must be true, false, strict or disable")
	}
	options := url.Values{
		"database": {address.Database}, "app name": {"tallyman"}, "ApplicationIntent": {"ReadOnly"}, "encrypt": {encrypt},
		"TrustServerCertificate": {strconv.FormatBool(trust)}, "disableretry": {"true"},
	}
	u := url.URL{
		Scheme: "sqlserver", Host: net.JoinHostPort(address.Host, address.Port), User: url.UserPassword(address.User, address.Password),
		Path: address.Options["instance"], RawQuery: options.Encode(),
	}
	login, err := msdsn.Parse(u.String())
	if err != nil {
		return msdsn.Config{}, urlError("the URL of the source cannot be read") // the driver's text may contain the password
	}
	return login, nil
}

func urlError(text string) error {
	return &scanners.Error{Code: scanners.CodeUnreachable, Err: errors.New(text)}
}

// Names implements scanners.Namer.
func (*Source) Names() string {
	return `SELECT table_name AS t, column_name AS c FROM information_schema.columns`
}

// Clock returns the server's time in the time zone of its machine. GETDATE() uses that zone, too.
func (s *Source) Clock(ctx context.Context) (time.Time, error) {
	return s.ServerClock(ctx, "SELECT SYSDATETIMEOFFSET()")
}
