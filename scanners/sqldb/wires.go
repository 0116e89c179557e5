package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"net"
	"sync"
	"time"
)

// Dial opens a network connection.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// DialContext is the form in which drivers take a dial.
func (d Dial) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d(ctx, network, address)
}

// WireGrace is how long a driver has to end a statement whose time is up, before its connection is cut.
const WireGrace = 2 * time.Second

// Wires is a driver.Connector that knows the network connection under each of a driver's. It is for drivers that do not heed the
// context of a statement while they wait for its rows: cutting the wire ends the wait.
type Wires struct {
	driver driver.Driver
	make   func(dial Dial) driver.Connector

	mu    sync.Mutex
	under map[driver.Conn]*wire
}

// wire is a network connection that forgets itself when it is closed.
type wire struct {
	net.Conn
	closed func()
}

// Close is called by the driver.
func (w *wire) Close() error {
	w.closed()
	return w.Conn.Close()
}

// NewWires returns a connector that makes a driver's connector for each connection, with a dial of its own.
func NewWires(d driver.Driver, connector func(dial Dial) driver.Connector) *Wires {
	return &Wires{driver: d, make: connector, under: map[driver.Conn]*wire{}}
}

// Driver is called by database/sql.
func (w *Wires) Driver() driver.Driver { return w.driver }

// Connect is called by database/sql.
func (w *Wires) Connect(ctx context.Context) (driver.Conn, error) {
	var last *wire
	var owner driver.Conn
	var loggedIn []func() bool // each ends the watch over a login, which drivers may not keep themselves
	connector := w.make(func(dialing context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(dialing, network, address)
		if err != nil {
			return nil, err
		}
		last = &wire{Conn: conn, closed: func() { w.forget(&owner) }}
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

// Watch cuts the wire under conn when ctx has ended: after the grace, or when the returned function is called, with which the driver
// has come back. A connection whose context has ended is closed in any case, and a driver may have words to exchange for that. Without wires there is nothing to cut.
func (w *Wires) Watch(ctx context.Context, conn *sql.Conn, grace time.Duration) (stop func()) {
	if w == nil {
		return func() {}
	}
	var found *wire
	_ = conn.Raw(func(driverConn any) error { // a closed connection has no wire to cut
		if c, ok := driverConn.(driver.Conn); ok {
			w.mu.Lock()
			defer w.mu.Unlock()
			found = w.under[c]
		}
		return nil
	})
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
