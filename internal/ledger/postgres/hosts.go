package postgres

import (
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// hostTimeout is how long each of several hosts has to take a connection, where the URL says nothing (connect_timeout). The next host may be
// the one that lives.
const hostTimeout = 3 * time.Second

// maxSilence is how long the machine of a server may take nothing of what it is sent before the connection breaks: no power, a cut network. A
// server that works on its answer has read the question, so it may take as long as it likes.
const maxSilence = 10 * time.Second

var dialer = net.Dialer{
	KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 4 * time.Second, Interval: 2 * time.Second, Count: 3}, // maxSilence in all
	Control:         boundSilence,
}

// parseURL reads the URL of a pool.
func parseURL(url string) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("ledger: the URL: %w", err) // pgx leaves the password out
	}
	followPrimary(cfg.ConnConfig)
	if cfg.PingTimeout == 0 {
		cfg.PingTimeout = hostTimeout // An idle connection to a host that is gone is given up as early.
	}
	return cfg, nil
}

// followPrimary has connections lead to the server that takes changes. A connection whose server takes none any more, or is silent, is closed, so that
// the next one finds another host, or another server under the same name. Of several hosts, none but such a server is taken.
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

// hasSeveralHosts tells whether the URL names more than one server. The same host may be there twice, with TLS and without.
func hasSeveralHosts(cfg *pgx.ConnConfig) bool {
	for _, next := range cfg.Fallbacks {
		if next.Host != cfg.Host || next.Port != cfg.Port {
			return true
		}
	}
	return false
}
