package oracle

import (
	"context"
	"database/sql/driver"
	"net"
	"net/url"
	"strconv"
	"time"

	ora "github.com/sijms/go-ora/v2"

	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

const (
	// rowsAtOnce is how many rows the driver requests in one message. The driver keeps all these rows in memory. The
	// driver's default of 25 would cause four times as many round trips.
	rowsAtOnce = 100
	// rowsAhead is how many of these rows may have the largest size of a row (Limits.Row). A hundred rows of that size
	// at once would be too much.
	rowsAhead = 4
)

// Driver declares the driver.
var Driver = scanners.Driver{
	Name: "oracle", Address: "oracle://user@host:1521/service", Wrong: "is no Oracle address",
	IsAddress: scanners.HasDatabase("oracle"),
	Open:      func(_ context.Context, c scanners.Config) (scanners.Source, error) { return scanners.Opened(Open(c)) },
	Scratch:   Scratch,
}

// Config is one configured source. Its URL is oracle://user:password@host:port/service. Options: tls (true, false),
// tls_verify (true, false; default: true), wallet (a folder), connect_timeout (seconds).
type Config = scanners.Config

// Source is an Oracle database.
type Source struct{ *sqldb.Source }

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
	wires := sqldb.NewWires(ora.NewDriver(), func(dial sqldb.Dial) driver.Connector {
		c := ora.NewConnector(login)
		if c, ok := c.(*ora.OracleConnector); ok {
			c.Dialer(dial)
		}
		return c
	})
	return &Source{Source: open(config, &address, wires, wires)}, nil
}

func parseAddress(text string) (sqldb.URL, error) {
	return sqldb.ParseURL(text, "oracle", "1521", "tls", "tls_verify", "wallet")
}

// open returns a source on any connector. wires may be nil.
func open(config Config, address *sqldb.URL, connector driver.Connector, wires *sqldb.Wires) *sqldb.Source {
	return sqldb.New(sqldb.Config{
		Dialect: &dialect{location: config.Zone(), wires: wires}, Connector: connector,
		MaxConnections: config.MaxConnections, StatementTimeout: config.StatementTimeout, ConnectTimeout: address.ConnectTimeout,
		Secrets: []string{address.Password}, Limits: config.Limits, Ahead: rowsAhead,
	})
}

// loginOf makes the driver's URL from known options only, because some of the driver's own options write files.
func loginOf(address *sqldb.URL) (string, error) {
	options := url.Values{"PREFETCH_ROWS": {strconv.Itoa(rowsAtOnce)}, "PROGRAM": {"tallyman"}}
	for ours, theirs := range map[string]string{"tls": "SSL", "tls_verify": "SSL VERIFY"} {
		on, err := address.Bool(ours, ours == "tls_verify")
		if err != nil {
			return "", err
		}
		options.Set(theirs, strconv.FormatBool(on))
	}
	if wallet := address.Options["wallet"]; wallet != "" {
		options.Set("WALLET", wallet)
	}
	u := url.URL{
		Scheme: "oracle", Host: net.JoinHostPort(address.Host, address.Port), User: url.UserPassword(address.User, address.Password),
		Path: "/" + address.Database, RawQuery: options.Encode(),
	}
	return u.String(), nil
}

// Names implements scanners.Namer.
func (*Source) Names() string {
	return `SELECT table_name AS t, column_name AS c FROM all_tab_columns WHERE owner IN (SELECT username FROM all_users WHERE oracle_maintained = 'N')`
}

// Clock returns the server's time in the time zone of its machine. SYSDATE uses that zone, too, and not the session's
// zone.
func (s *Source) Clock(ctx context.Context) (time.Time, error) {
	return s.ServerClock(ctx, "SELECT SYSTIMESTAMP FROM DUAL")
}
