package testenv

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// standbyName is the name of a standby at its primary.
const standbyName = "standby"

// Standby starts a server that follows s by streaming replication. A synchronous standby has every commit before the
// client gets the answer.
func (s *PGServer) Standby(synchronous bool) *PGServer {
	s.t.Helper()
	standby, err := makePGServer()
	if err != nil {
		s.t.Fatal(err)
	}
	standby.t, standby.fsync, standby.follows = s.t, s.fsync, s
	if err := standby.begin(s.copyData); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(standby.remove)
	state := "async"
	if synchronous {
		state = "sync"
		s.change("synchronous_standby_names", standbyName)
	}
	s.await("SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = $1", state)
	return standby
}

// copyData fills the folder of a standby.
func (s *PGServer) copyData(dir string) error {
	from := fmt.Sprintf("host=127.0.0.1 port=%d user=postgres application_name=%s", s.port, standbyName)
	cmd := exec.Command(s.inst.binary("pg_basebackup"), "--pgdata", dir, "--dbname", from, "--write-recovery-conf", "--checkpoint=fast", "--no-sync")
	cmd.Dir = s.root
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.inst.cred}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w\n%s", err, out)
	}
	return nil
}

// HoldBack cuts a standby off from its primary, after the standby has got every commit so far. Later commits do not
// reach the standby.
func (s *PGServer) HoldBack() {
	s.t.Helper()
	s.follows.await("SELECT replay_lsn >= pg_current_wal_lsn() FROM pg_stat_replication")
	s.change("primary_conninfo", "")
	s.await("SELECT count(*) = 0 FROM pg_stat_wal_receiver")
}

// Promote makes the standby a primary, and waits until the server accepts writes.
func (s *PGServer) Promote() {
	s.t.Helper()
	s.Shell("pg_ctl promote --wait --silent")
}

// HostsURL is URL with the addresses of several servers.
func HostsURL(database string, servers ...*PGServer) string {
	hosts := make([]string, len(servers))
	for i, s := range servers {
		hosts[i] = s.Addr
	}
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", strings.Join(hosts, ","), database)
}

// change changes a setting of the running server.
func (s *PGServer) change(name, value string) {
	s.t.Helper()
	for _, sql := range []string{"ALTER SYSTEM SET " + name + " = '" + value + "'", "SELECT pg_reload_conf()"} {
		if err := s.exec(sql); err != nil {
			s.t.Fatal(err)
		}
	}
}

// await waits until the server answers true.
func (s *PGServer) await(query string, args ...any) {
	s.t.Helper()
	conn, err := pgx.Connect(context.Background(), s.URL("postgres"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	Eventually(s.t, func() bool {
		var yes bool
		return conn.QueryRow(context.Background(), query, args...).Scan(&yes) == nil && yes
	}, 20*time.Second)
}
