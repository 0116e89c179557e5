package testenv

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// sharedMaria is the server behind MariaDB, one for the test process. The first test that needs the server starts it.
var sharedMaria struct {
	once   sync.Once
	server *mariaServer
	err    error
}

// MariaDatabase is a fresh empty database.
type MariaDatabase struct {
	Addr     string // The host:port of the server.
	Name     string
	User     string // Has every right on the server.
	Password string
}

// URL returns the address of the database in the form of a source's url.
func (d MariaDatabase) URL() string {
	u := url.URL{Scheme: "mysql", User: url.UserPassword(d.User, d.Password), Host: d.Addr, Path: "/" + d.Name}
	return u.String()
}

// DSN returns the address in the form of the driver. It allows several statements in one call.
func (d MariaDatabase) DSN() string {
	c := mysql.NewConfig()
	c.Net, c.Addr, c.DBName, c.User, c.Passwd, c.MultiStatements = "tcp", d.Addr, d.Name, d.User, d.Password, true
	return c.FormatDSN()
}

// MariaDB returns a fresh empty database, dropped when the test ends. The server is shared by the tests of the process.
func MariaDB(t testing.TB) MariaDatabase {
	t.Helper()
	sharedMaria.once.Do(func() { sharedMaria.server, sharedMaria.err = newMariaServer() })
	if sharedMaria.err != nil {
		t.Fatal(sharedMaria.err)
	}
	s := sharedMaria.server
	d := s.database("t" + strconv.FormatInt(databases.Add(1), 10))
	if err := s.exec("CREATE DATABASE " + d.Name + " CHARACTER SET utf8mb4"); err != nil {
		t.Fatalf("create a database: %v", err)
	}
	t.Cleanup(func() {
		if err := s.exec("DROP DATABASE IF EXISTS " + d.Name); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return d
}

func stopSharedMaria() {
	if sharedMaria.server != nil {
		sharedMaria.server.remove()
	}
}

func (s *mariaServer) database(name string) MariaDatabase {
	return MariaDatabase{Addr: s.addr, Name: name, User: mariaOwner, Password: mariaPassword}
}

// exec runs one statement on a connection of its own.
func (s *mariaServer) exec(statement string) error {
	db, err := sql.Open("mysql", s.database("").DSN())
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(context.Background(), statement)
	return err
}

const mariaMissing = `MariaDB's server is not installed, and these tests need it.
  Debian, Ubuntu: apt-get install mariadb-server   (make test does it, as root)
  macOS:          brew install mariadb`

var errNoMaria = errors.New(mariaMissing)

// The account of the tests. It has every right, files included, so that a test shows what Tallyman itself prevents.
const (
	mariaOwner    = "owner"
	mariaPassword = "s3cret/pass"
)

// mariaServer is a running MariaDB.
type mariaServer struct {
	addr   string
	root   string // The folder of data/ and the socket.
	server *process
}

// newMariaServer makes a data folder and starts a server on it.
func newMariaServer() (*mariaServer, error) {
	path, err := findMaria()
	if err != nil {
		return nil, err
	}
	s := &mariaServer{}
	// The name is short because the path of a unix socket has a limit.
	if s.root, err = serverFolder("tmmy"); err != nil {
		return nil, err
	}
	if err = s.install(); err == nil {
		for range 5 { // Another process may take the port between the choice and the start.
			if err = s.start(path); err == nil {
				return s, nil
			}
		}
	}
	s.remove()
	return nil, err
}

// findMaria looks in the PATH, and in the folder in which Debian has servers.
func findMaria() (string, error) {
	path, err := exec.LookPath("mariadbd")
	if err != nil {
		path = "/usr/sbin/mariadbd"
		if !isFile(path) {
			return "", errNoMaria
		}
	}
	return path, nil
}

func (s *mariaServer) data() string { return filepath.Join(s.root, "data") }

// options returns the options of the installation and the server. The data is not kept, so it need not reach the disk.
func (s *mariaServer) options() ([]string, error) {
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	return []string{
		"--no-defaults", "--datadir=" + s.data(), "--user=" + me.Username,
		"--innodb-log-file-size=16M", "--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0", "--innodb-buffer-pool-size=64M",
	}, nil
}

func (s *mariaServer) install() error {
	options, err := s.options()
	if err != nil {
		return err
	}
	args := append(options, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
	if out, err := exec.Command("mariadb-install-db", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("mariadb-install-db: %w\n%s", err, out)
	}
	grants := fmt.Sprintf("CREATE USER IF NOT EXISTS %s@'%%' IDENTIFIED BY '%s';\nGRANT ALL ON *.* TO %s@'%%' WITH GRANT OPTION;\n", mariaOwner, mariaPassword, mariaOwner)
	if err := os.WriteFile(filepath.Join(s.root, "init.sql"), []byte(grants), 0o600); err != nil {
		return err
	}
	return s.certify()
}

// certify makes a certificate for TLS. Servers from version 11.4 on make such a certificate themselves at their start.
func (s *mariaServer) certify() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(90 * 24 * time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	coded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(s.root, "tls.crt"), PEM("CERTIFICATE", cert), 0o600),
		os.WriteFile(filepath.Join(s.root, "tls.key"), PEM("EC PRIVATE KEY", coded), 0o600))
}

func (s *mariaServer) start(path string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	s.addr = "127.0.0.1:" + strconv.Itoa(port)
	args, err := s.options()
	if err != nil {
		return err
	}
	args = append(args, "--bind-address=127.0.0.1", "--port="+strconv.Itoa(port), "--socket="+filepath.Join(s.root, "sock"),
		"--pid-file="+filepath.Join(s.root, "pid"), "--init-file="+filepath.Join(s.root, "init.sql"), "--skip-name-resolve",
		"--ssl-cert="+filepath.Join(s.root, "tls.crt"), "--ssl-key="+filepath.Join(s.root, "tls.key"), "--max-connections=300")
	server, err := launch{path: path, args: args, dir: s.root, death: syscall.SIGKILL}.start()
	if err != nil {
		return err
	}
	if err := server.ready(s.check); err != nil {
		server.kill()
		return err
	}
	s.server = server
	return nil
}

// check returns an error unless this server answers, and not another server on the same port.
func (s *mariaServer) check() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	db, err := sql.Open("mysql", s.database("").DSN())
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var dir string
	if err := db.QueryRowContext(ctx, "SELECT @@datadir").Scan(&dir); err != nil {
		return err
	}
	if filepath.Clean(dir) != s.data() {
		return fmt.Errorf("another server answers on %s", s.addr)
	}
	return nil
}

// remove stops the server and deletes its files.
func (s *mariaServer) remove() {
	if s.server != nil {
		s.server.kill() // The data is not kept, so the server need not shut down cleanly.
		s.server = nil
	}
	_ = os.RemoveAll(s.root)
}
