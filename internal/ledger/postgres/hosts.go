package postgres

import (
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// hostTimeout is how long each of several hosts has to accept a connection, if the URL has no connect_timeout.
// hostTimeout is short because the next host may be the one that is alive.
const hostTimeout = 3 * time.Second

// maxSilence is how long a connection lasts without an acknowledgement from the server's machine. After a power failure
// or in a cut network no acknowledgement comes, and the connection breaks. A server that works on its answer has
// acknowledged the question, so a slow answer breaks no connection.
const maxSilence = 10 * time.Second

var dialer = net.Dialer{
	// 4 s + 3 × 2 s = maxSilence
	KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 4 * time.Second, Interval: 2 * time.Second, Count: 3},
	Control:         boundSilence,
}

// parseURL reads the URL of a pool.
func parseURL(url string) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("ledger: the URL: %w", err) // the error of pgx has no password
	}
	followPrimary(cfg.ConnConfig)
	if cfg.PingTimeout == 0 {
		cfg.PingTimeout = hostTimeout // An idle connection to a host that is gone is given up after the same time.
	}
	return cfg, nil
}

// parseConnURL reads the URL of a single connection.
func parseConnURL(url string) (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("ledger: the URL: %w", err)
	}
	followPrimary(cfg)
	return cfg, nil
}

// followPrimary makes connections lead to the server that takes writes. followPrimary closes a connection whose server
// takes no writes any more or is silent. The next connection then finds another host, or another server under the same
// name. Of several hosts, only a server that takes writes is accepted.
func followPrimary(cfg *pgx.ConnConfig) {
	stays := cfg.OnPgError
	cfg.OnPgError = func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		return err.Code != readOnlyTransaction && stays(conn, err)
	}
	cfg.DialFunc = dialer.DialContext
	if !hasSeveralHosts(cfg) {
		return
	}
	if cfg.ValidateConnect == nil {
		cfg.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = hostTimeout
	}
}

// hasSeveralHosts tells whether the URL names more than one server. pgx lists the same host twice to try it with TLS
// and without.
func hasSeveralHosts(cfg *pgx.ConnConfig) bool {
	for _, next := range cfg.Fallbacks {
		if next.Host != cfg.Host || next.Port != cfg.Port {
			return true
		}
	}
	return false
}
