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

// DialContext is the form in which drivers take a dial.
func (d Dial) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d(ctx, network, address)
}

// WireGrace is how long a driver has to end a statement whose time is up, before its connection is cut.
const WireGrace = 2 * time.Second

// Wires is a driver.Connector that knows the network connection under each of a driver's. Some drivers do not heed the context of a
// statement while they wait for its rows: cutting the wire ends the wait. None of them bounds a row: the wire counts what comes, and
// ends a connection on which too much does before it can all be read.
type Wires struct {
	driver driver.Driver
	make   func(dial Dial) driver.Connector

	mu    sync.Mutex
	under map[driver.Conn]*countedConn
}

// countedConn is a network connection that forgets itself when it is closed, and that counts.
type countedConn struct {
	net.Conn
	closed func()

	most atomic.Int64 // bytes that may come between two rows; 0 = any number
	came atomic.Int64 // since the last row
	over atomic.Bool  // more came, and the connection was closed
}

// errTooMuch is what the driver sees of a connection on which too much came.
var errTooMuch = errors.New("more came than may")

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

// row begins to count anew.
func (w *countedConn) row() {
	if w != nil {
		w.came.Store(0)
	}
}

// bound says how many bytes may come between two rows from here on.
func (w *countedConn) bound(most int) {
	if w != nil {
		w.came.Store(0)
		w.most.Store(int64(most))
	}
}

// wasOver tells whether the connection was closed because too much came.
func (w *countedConn) wasOver() bool { return w != nil && w.over.Load() }

// Close is called by the driver.
func (w *countedConn) Close() error {
	w.closed()
	return w.Conn.Close()
}

// NewWires returns a connector that makes a driver's connector for each connection, with a dial of its own.
func NewWires(d driver.Driver, connector func(dial Dial) driver.Connector) *Wires {
	return &Wires{driver: d, make: connector, under: map[driver.Conn]*countedConn{}}
}

// Driver is called by database/sql.
func (w *Wires) Driver() driver.Driver { return w.driver }

// Connect is called by database/sql.
func (w *Wires) Connect(ctx context.Context) (driver.Conn, error) {
	var last *countedConn
	var owner driver.Conn
	var loggedIn []func() bool // each ends the watch over a login, which drivers may not keep themselves
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
			err = context.Cause(ctx) // too late: the wire is cut
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

// find returns the wire under conn; nil where there are no wires, and of a closed connection.
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

// Watch cuts the wire under conn when ctx has ended: after the grace, or when the returned function is called, with which the driver
// has come back. A connection whose context has ended is closed in any case, and a driver may have words to exchange for that. Without wires there is nothing to cut.
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

// boundedConnector bounds a connection attempt, from the first packet to the last of the login.
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
