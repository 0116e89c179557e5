package testenv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

const pgBouncerMissing = `PgBouncer is not installed, and these tests need it.
  Debian, Ubuntu: apt-get install pgbouncer       (make test does it, as root)
  macOS:          brew install pgbouncer`

var errNoPgBouncer = errors.New(pgBouncerMissing)

// PgBouncer starts a PgBouncer before the server of the URL, and returns the URL by way of it. The mode is that of pool_mode.
func PgBouncer(t testing.TB, url, mode string) string {
	t.Helper()
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	target := net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port)))
	b := &pgBouncer{target: cfg.Config.Host, targetPort: cfg.Port, mode: mode}
	if err := b.begin(func(addr string) string { return strings.Replace(url, target, addr, 1) }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.remove)
	return b.url
}

type pgBouncer struct {
	target     string // host of the server
	targetPort uint16
	mode       string
	url        string
	root       string
	process    *process
}

// begin starts it on a free port; url makes the URL of an address.
func (b *pgBouncer) begin(url func(addr string) string) error {
	path, err := findPgBouncer()
	if err != nil {
		return err
	}
	postgres, err := findPostgres() // PgBouncer refuses to run as root, too
	if err != nil {
		return err
	}
	if b.root, err = postgres.tempDir(); err != nil {
		return err
	}
	for range 5 { // another process may take the port between the choice and the start
		var port int
		if port, err = freePort(); err != nil {
			break
		}
		b.url = url("127.0.0.1:" + strconv.Itoa(port))
		var file string
		if file, err = b.configure(port); err != nil {
			break
		}
		if b.process, err = (launch{path: path, args: []string{file}, dir: b.root, cred: postgres.cred, death: syscall.SIGKILL}).start(); err != nil {
			break
		}
		if err = b.process.ready(b.check); err == nil {
			return nil
		}
		b.process.kill()
	}
	b.remove()
	return err
}

// configure writes what PgBouncer reads.
func (b *pgBouncer) configure(port int) (file string, err error) {
	users := filepath.Join(b.root, "users.txt")
	file = filepath.Join(b.root, "pgbouncer.ini")
	return file, errors.Join(
		os.WriteFile(users, []byte(`"postgres" ""`+"\n"), 0o644), //nolint:gosec // the user of the server reads it
		os.WriteFile(file, fmt.Appendf(nil, "[databases]\n* = host=%s port=%d\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\n"+
			"auth_type = trust\nauth_file = %s\npool_mode = %s\n", b.target, b.targetPort, port, users, b.mode), 0o644), //nolint:gosec // as above
	)
}

func (b *pgBouncer) check() error {
	conn, err := pgx.Connect(context.Background(), b.url)
	if err != nil {
		return err
	}
	return conn.Close(context.Background())
}

func (b *pgBouncer) remove() {
	if b.process != nil {
		b.process.end(syscall.SIGTERM)
	}
	_ = os.RemoveAll(b.root)
}

func findPgBouncer() (string, error) {
	const debian = "/usr/sbin/pgbouncer" // not in everybody's PATH
	if isFile(debian) {
		return debian, nil
	}
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		return "", errNoPgBouncer
	}
	return path, nil
}
