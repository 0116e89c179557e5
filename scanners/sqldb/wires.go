package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"tallyman/scanners"
)

// Dial opens a network connection.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// DialContext is Dial as drivers take it.
func (d Dial) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d(ctx, network, address)
}

// WireGrace is how long a driver may take to end a statement whose time is up. Then its connection is cut.
const WireGrace = 2 * time.Second

// Wires is a driver.Connector that knows the network connection (the wire) under each connection of a driver. Some
// drivers ignore the context of a statement while they wait for its rows; cutting the wire ends the wait. None of these
// drivers bounds the size of a row. So the wire counts bytes, and closes a connection before too many are read.
type Wires struct {
	driver driver.Driver
	make   func(dial Dial) driver.Connector

	mu    sync.Mutex
	under map[driver.Conn]*countedConn
}

// countedConn is a network connection that counts bytes, and that removes itself from Wires when it is closed.
type countedConn struct {
	net.Conn
	closed func()

	most atomic.Int64 // how many bytes may arrive between two rows; 0 means any number
	came atomic.Int64 // bytes since the last row
	over atomic.Bool  // more bytes than most arrived, so the connection was closed
}

// errTooMuch is the error that the driver gets from a connection with too many bytes.
var errTooMuch = errors.New("the database sent more bytes than allowed")

// Read is called by the driver.
func (w *countedConn) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if most := w.most.Load(); most > 0 && w.came.Add(int64(n)) > most {
		w.over.Store(true)
		_ = w.Close()
		return 0, errTooMuch
	}
	return n, err
}

// row starts the count of the next row.
func (w *countedConn) row() {
	if w != nil {
		w.came.Store(0)
	}
}

// bound sets how many bytes may arrive between two rows from now on.
func (w *countedConn) bound(most int) {
	if w != nil {
		w.came.Store(0)
		w.most.Store(int64(most))
	}
}

// wasOver tells whether the connection was closed because of too many bytes.
func (w *countedConn) wasOver() bool { return w != nil && w.over.Load() }

// Close is called by the driver.
func (w *countedConn) Close() error {
	w.closed()
	return w.Conn.Close()
}

// NewWires returns the Wires of the driver d. For each new connection, the Wires calls connector with a dial that makes
// the counting network connection.
func NewWires(d driver.Driver, connector func(dial Dial) driver.Connector) *Wires {
	return &Wires{driver: d, make: connector, under: map[driver.Conn]*countedConn{}}
}

// Driver is called by database/sql.
func (w *Wires) Driver() driver.Driver { return w.driver }

// Connect is called by database/sql.
func (w *Wires) Connect(ctx context.Context) (driver.Conn, error) {
	var last *countedConn
	var owner driver.Conn
	var loggedIn []func() bool // each ends the watch over a login, because drivers may ignore the context of a login
	connector := w.make(func(dialing context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(dialing, network, address)
		if err != nil {
			return nil, err
		}
		last = &countedConn{Conn: conn, closed: func() { w.forget(&owner) }}
		loggedIn = append(loggedIn, context.AfterFunc(ctx, func() { _ = conn.Close() }))
		return last, nil
	})
	conn, err := connector.Connect(ctx)
	for _, stop := range loggedIn {
		if !stop() && err == nil {
			err = context.Cause(ctx) // too late: the wire was cut
			_ = conn.Close()
		}
	}
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	owner = conn
	if last != nil {
		w.under[conn] = last
	}
	return conn, nil
}

func (w *Wires) forget(owner *driver.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.under, *owner)
}

// find returns the wire under conn. find returns nil if there are no wires, or if the connection is closed.
func (w *Wires) find(conn *sql.Conn) (found *countedConn) {
	if w == nil {
		return nil
	}
	_ = conn.Raw(func(driverConn any) error {
		if c, ok := driverConn.(driver.Conn); ok {
			w.mu.Lock()
			defer w.mu.Unlock()
			found = w.under[c]
		}
		return nil
	})
	return found
}

// Watch cuts the wire under conn after ctx has ended. The cut comes after the grace, or when the driver has returned
// and the caller calls stop. The caller closes the connection in any case. Without a cut, the driver might talk to the
// server at the close. Without wires, Watch does nothing.
func (w *Wires) Watch(ctx context.Context, conn *sql.Conn, grace time.Duration) (stop func()) {
	found := w.find(conn)
	if found == nil {
		return func() {}
	}
	done := make(chan struct{})
	end := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			_ = found.Close()
		case <-done:
		}
	})
	return func() {
		close(done)
		if !end() {
			_ = found.Close()
		}
	}
}

// boundedConnector bounds the time of an attempt to connect, login included.
type boundedConnector struct {
	driver.Connector
	timeout time.Duration
}

// Connect is called by database/sql.
func (c *boundedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	conn, err := c.Connector.Connect(bounded)
	if err != nil && ctx.Err() == nil && errors.Is(bounded.Err(), context.DeadlineExceeded) {
		return nil, &scanners.Error{
			Code: scanners.CodeUnreachable, Transient: true,
			Err: fmt.Errorf("the database did not accept a connection within %s", c.timeout),
		}
	}
	return conn, err
}
