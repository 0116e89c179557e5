package sqldb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/scanners/sqldb"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// deaf is a driver that ignores the context while it reads from the network.
type deaf struct {
	dial    sqldb.Dial
	address string
}

func (d deaf) Driver() driver.Driver { return nil }

func (d deaf) Connect(ctx context.Context) (driver.Conn, error) {
	wire, err := d.dial(ctx, "tcp", d.address)
	if err != nil {
		return nil, err
	}
	return &deafConn{wire}, nil
}

type deafConn struct{ wire net.Conn }

func (c *deafConn) Prepare(string) (driver.Stmt, error) { return nil, errors.New("not here") }
func (c *deafConn) Begin() (driver.Tx, error)           { return nil, errors.New("not here") }
func (c *deafConn) Close() error                        { return c.wire.Close() }

func (c *deafConn) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	_, err := io.ReadAll(c.wire)
	return driver.RowsAffected(0), err
}

// TestWires cuts the connection of a statement that its driver does not give up, and no other connection.
func TestWires(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	wires := sqldb.NewWires(nil, func(dial sqldb.Dial) driver.Connector { return deaf{dial: dial, address: l.Addr().String()} })
	db := sql.OpenDB(wires)
	defer func() { _ = db.Close() }()

	run := func(cut bool) error {
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = server.Close() }()
		ctx, cancel := context.WithCancel(t.Context())
		stop := wires.Watch(ctx, conn, 10*time.Millisecond)
		if !cut {
			stop() // the statement is over in time
			_ = server.Close()
		}
		cancel()
		_, err = conn.ExecContext(t.Context(), "SELECT 1")
		if cut {
			stop()
		}
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		return err
	}
	if err := run(true); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a deaf driver: %v", err)
	}
	late, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stop := wires.Watch(ctx, late, time.Hour)
	cancel()
	stop() // the driver has come back, too late
	if _, err := late.ExecContext(t.Context(), "SELECT 1"); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a statement whose time was up: %v", err)
	}
	_ = late.Raw(func(any) error { return driver.ErrBadConn })
	_ = late.Close()
	if server, err := l.Accept(); err == nil {
		_ = server.Close()
	}
	if err := run(false); err != nil {
		t.Errorf("a statement that was over: %v", err)
	}
	if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		_ = l.Close()
		gone := sql.OpenDB(sqldb.NewWires(nil, func(dial sqldb.Dial) driver.Connector { return deaf{dial: dial, address: l.Addr().String()} }))
		defer func() { _ = gone.Close() }()
		if err := gone.PingContext(t.Context()); err == nil {
			t.Error("nobody listens there")
		}
	}
}
