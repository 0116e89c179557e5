package mysql_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/mysql"
	"tallyman/scanners/scannertest"
)

// TestNothingRunsOn cancels a scan, exceeds a cap and stops early. Each time the statement must end on the server.
func TestNothingRunsOn(t *testing.T) {
	t.Parallel()
	d := testenv.MariaDB(t)
	s := open(t, mysql.Config{URL: d.URL(), MaxConnections: 1})
	series := prepare(t, s, "SELECT seq AS n FROM seq_1_to_2000000000")
	endless := prepare(t, s, "SELECT count(*) AS n FROM seq_1_to_1000000 a, seq_1_to_1000000 b WHERE a.seq + b.seq < 0")

	ctx, cancel := context.WithCancel(t.Context())
	_, err := series.Scan(ctx, scanners.Request{}, func(*row.Row) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	nothingRuns(t, d)
	ctx, cancel = context.WithCancel(t.Context())
	defer time.AfterFunc(50*time.Millisecond, cancel).Stop()
	if _, err := endless.Scan(ctx, scanners.Request{}, ignore); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled before the first row: %v", err)
	}
	nothingRuns(t, d)
	if got, err := series.Scan(t.Context(), scanners.Request{MaxRows: 1}, ignore); err != nil || !got.More {
		t.Errorf("capped: %+v, %v", got, err)
	}
	enough := errors.New("enough")
	if _, err := series.Scan(t.Context(), scanners.Request{}, func(*row.Row) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("stopped: %v", err)
	}
	nothingRuns(t, d)
}

// TestClientTimeout has a server that ignores its own timeout. The client gives up, and the statement ends on the
// server.
func TestClientTimeout(t *testing.T) {
	t.Parallel()
	d := testenv.MariaDB(t)
	exec(t, d, "CREATE FUNCTION slow() RETURNS int READS SQL DATA BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; DO SLEEP(1000); RETURN 1; END")
	s := open(t, mysql.Config{URL: d.URL(), MaxConnections: 1})
	start := time.Now()
	_, err := prepare(t, s, "SELECT slow() AS n").Scan(t.Context(), scanners.Request{Timeout: 100 * time.Millisecond}, ignore)
	wantCode(t, "a slow function", err, scanners.CodeTimeout, "")
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	nothingRuns(t, d)
}

// TestPoolIsFull tests that the wait for a connection is no longer than the timeout of the scan.
func TestPoolIsFull(t *testing.T) {
	t.Parallel()
	s := open(t, mysql.Config{URL: testenv.MariaDB(t).URL(), MaxConnections: 1})
	p := prepare(t, s, "SELECT 1 AS one")
	_, err := p.Scan(t.Context(), scanners.Request{}, func(*row.Row) error {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := p.Scan(ctx, scanners.Request{}, ignore)
		wantCode(t, "the second scan", err, scanners.CodeTimeout, "max_connections")
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestSilentServer accepts connections and never answers.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	s := open(t, mysql.Config{URL: "mysql://wms@" + l.Addr().String() + "/wms?connect_timeout=1"})
	wantCode(t, "ping", s.Ping(t.Context()), scanners.CodeUnreachable, "within 1s")
}

// TestWithoutMetadataCache puts a proxy between the source and the server, so that the server always sends the columns,
// as MySQL and older MariaDBs do. The driver then keeps no columns.
func TestWithoutMetadataCache(t *testing.T) {
	t.Parallel()
	d := testenv.MariaDB(t)
	exec(t, d, "CREATE TABLE bins (id int NOT NULL, qty decimal(12,3)); INSERT INTO bins VALUES (1, 2.5), (2, NULL)")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go plainGreeting(client, d.Addr)
		}
	}()
	u, err := url.Parse(d.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.Host = l.Addr().String()
	s := open(t, mysql.Config{URL: u.String()})
	p := prepare(t, s, "SELECT id, qty, :x AS x FROM bins WHERE id < :y ORDER BY id")
	if c := p.Columns(); len(c) != 3 || c[0].Nullable || c[1].DBType != "decimal(12,3)" {
		t.Errorf("%+v", c)
	}
	for range 2 {
		if rows := scannertest.Rows(t, p, map[string]any{"x": "x", "y": 3}); len(rows) != 2 || rows[0].Values[1].String() != "2.500" || !rows[1].Values[1].IsNull() {
			t.Errorf("%d rows", len(rows))
		}
	}
}

// plainGreeting passes on everything except the capabilities that only MariaDB has.
func plainGreeting(client net.Conn, addr string) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	header := make([]byte, 4)
	if _, err := io.ReadFull(server, header); err != nil {
		return
	}
	greeting := make([]byte, int(header[0])|int(header[1])<<8|int(header[2])<<16)
	if _, err := io.ReadFull(server, greeting); err != nil {
		return
	}
	version := strings.IndexByte(string(greeting[1:]), 0)
	const upTo = 1 + 4 + 8 + 1 + 2 + 1 + 2 + 2 + 1 + 6 // NUL, thread, salt, filler, flags, charset, status, flags, length of the salt, filler
	clear(greeting[1+version+upTo : 1+version+upTo+4])
	if _, err := client.Write(slices.Concat(header, greeting)); err != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
	_ = client.Close()
	<-done
}
