package postgres

import (
	"net"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"tallyman/internal/testenv"
)

// TestConnectionsBoundSilence checks that a connection breaks when the other machine is gone.
func TestConnectionsBoundSilence(t *testing.T) {
	t.Parallel()
	cfg, err := parseURL(testenv.Postgres(t))
	noError(t, err)
	conn, err := pgx.ConnectConfig(t.Context(), cfg.ConnConfig)
	noError(t, err)
	defer func() { noError(t, conn.Close(t.Context())) }()
	raw, err := conn.PgConn().Conn().(*net.TCPConn).SyscallConn()
	noError(t, err)
	options := map[string]int{}
	noError(t, raw.Control(func(fd uintptr) {
		for name, option := range map[string]int{"user timeout": unix.TCP_USER_TIMEOUT, "idle": unix.TCP_KEEPIDLE, "interval": unix.TCP_KEEPINTVL, "count": unix.TCP_KEEPCNT} {
			options[name], _ = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, option)
		}
	}))
	if options["user timeout"] != 10_000 || options["idle"] != 4 || options["interval"] != 2 || options["count"] != 3 {
		t.Errorf("the connection has %v", options)
	}
}
