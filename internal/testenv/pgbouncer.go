package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

const pgBouncerMissing = `PgBouncer is not installed, and these tests need it.
  Debian, Ubuntu: apt-get install pgbouncer       (make test does it, as root)
  macOS:          brew install pgbouncer`

var errNoPgBouncer = errors.New(pgBouncerMissing)

// PgBouncer starts a PgBouncer in front of the server of the URL. It returns the URL through PgBouncer. mode is the
// value of pool_mode.
func PgBouncer(t testing.TB, url, mode string) string {
	t.Helper()
	b := &pgBouncer{mode: mode}
	if err := b.begin(url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.remove)
	return b.url
}

type pgBouncer struct {
	mode    string
	url     string // The URL through PgBouncer.
	root    string
	process *process
}

// begin starts PgBouncer on a free port.
func (b *pgBouncer) begin(direct string) error {
	server, err := pgx.ParseConfig(direct)
	if err != nil {
		return err
	}
	path, err := findPgBouncer()
	if err != nil {
		return err
	}
	user, err := findPostgres() // PgBouncer refuses to run as root, as PostgreSQL does.
	if err != nil {
		return err
	}
	if b.root, err = user.tempDir(); err != nil {
		return err
	}
	for range 5 { // Another process may take the port between the choice and the start.
		var port int
		if port, err = freePort(); err != nil {
			break
		}
		b.url = strings.Replace(direct, fmt.Sprintf("%s:%d", server.Host, server.Port), fmt.Sprintf("127.0.0.1:%d", port), 1)
		var file string
		if file, err = b.configure(user, server, port); err != nil {
			break
		}
		if b.process, err = (launch{path: path, args: []string{file}, dir: b.root, cred: user.cred, death: syscall.SIGKILL}).start(); err != nil {
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

// configure writes the configuration of PgBouncer, readable by the user that it runs as.
func (b *pgBouncer) configure(user *pgInstall, server *pgx.ConnConfig, port int) (file string, err error) {
	users := filepath.Join(b.root, "users.txt")
	file = filepath.Join(b.root, "pgbouncer.ini")
	settings := fmt.Sprintf("[databases]\n* = host=%s port=%d\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\n"+
		"auth_type = trust\nauth_file = %s\npool_mode = %s\n", server.Host, server.Port, port, users, b.mode)
	for name, text := range map[string]string{file: settings, users: `"postgres" ""` + "\n"} {
		if err := errors.Join(os.WriteFile(name, []byte(text), 0o600), user.own(name)); err != nil {
			return "", err
		}
	}
	return file, nil
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
	const debian = "/usr/sbin/pgbouncer" // This folder may be missing in the PATH.
	if isFile(debian) {
		return debian, nil
	}
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		return "", errNoPgBouncer
	}
	return path, nil
}
