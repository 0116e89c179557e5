package testenv

import (
	"context"
	"database/sql"
	"net/url"
	"strconv"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// sharedMaria is the server behind MariaDB: one for a test process, started by the first test that asks.
var sharedMaria struct {
	once   sync.Once
	server *mariaServer
	err    error
}

// MariaDatabase is a fresh empty database.
type MariaDatabase struct {
	Addr     string // host:port of the server
	Name     string
	User     string // may do everything on the server
	Password string
}

// URL returns the address of the database as a source has it.
func (d MariaDatabase) URL() string {
	u := url.URL{Scheme: "mysql", User: url.UserPassword(d.User, d.Password), Host: d.Addr, Path: "/" + d.Name}
	return u.String()
}

// DSN returns the address as the driver has it. Several statements may be sent at once.
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
