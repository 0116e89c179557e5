package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"tallyman/internal/notice"
	"tallyman/internal/testenv"
)

// bounded is an API that serves itself, with connections that live by these bounds.
func bounded(t *testing.T, header, read, write, idle time.Duration) *bundle {
	t.Helper()
	b := newBundle()
	b.api.SetBounds(header, read, write, idle)
	stop := b.serve(t)
	b.client = &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		b.client.CloseIdleConnections()
		if err := <-stop(); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return b
}

// dial connects as no honest client does.
func (b *bundle) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(2 * enough)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// drip writes the text and then a byte every few ms, until the server ends the connection.
func drip(conn net.Conn, text, drop string) {
	_, err := io.WriteString(conn, text)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for err == nil {
		<-tick.C
		_, err = io.WriteString(conn, drop)
	}
}

// ended is what the server sent before it ended the connection.
func ended(t *testing.T, conn net.Conn) string {
	t.Helper()
	got, err := io.ReadAll(conn)
	if ne, ok := err.(net.Error); ok && ne.Timeout() { //nolint:errorlint // as ReadAll gives it
		t.Fatal("the server did not end the connection")
	}
	return string(got)
}

const short = 200 * time.Millisecond

// TestSlowHeaders proves that who never finishes a request is cut off, and holds up nobody.
func TestSlowHeaders(t *testing.T) {
	t.Parallel()
	b := bounded(t, short, enough, enough, enough)
	conns := make([]net.Conn, 50)
	for i := range conns {
		conns[i] = b.dial(t)
		go drip(conns[i], "GET "+pollPath+" HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", "x")
	}
	if got := b.get(t, pollPath); got.status != http.StatusOK {
		t.Errorf("others: %d", got.status)
	}
	for _, conn := range conns {
		if got := ended(t, conn); strings.Contains(got, "200 OK") {
			t.Errorf("answered: %s", got)
		}
	}
}

// TestSlowBodies proves that a body has to come in time, whether somebody waits for it or not.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ line, want string }{
		"that is read":           {"POST " + subs, "body_timeout"},
		"that nobody asked for":  {"GET " + pollPath, "200 OK"},
		"of what is not allowed": {"DELETE " + pollPath, "method_not_allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bounded(t, enough, short, enough, enough)
			conn := b.dial(t)
			go drip(conn, test.line+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n", " ")
			if got := ended(t, conn); !strings.Contains(got, test.want) {
				t.Errorf("answered: %q", got)
			}
		})
	}
}

// TestEndlessBodies proves that nothing is read that is too much.
func TestEndlessBodies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ head, drop, want string }{
		"in chunks":             {"POST " + subs + " HTTP/1.1\r\nTransfer-Encoding: chunked", "1000\r\n" + strings.Repeat(" ", 0x1000) + "\r\n", "body_too_large"},
		"of a length":           {"POST " + subs + " HTTP/1.1\r\nContent-Length: 1000000000000", strings.Repeat(" ", 0x1000), "body_too_large"},
		"that nobody asked for": {"GET " + pollPath + " HTTP/1.1\r\nTransfer-Encoding: chunked", "1000\r\n" + strings.Repeat(" ", 0x1000) + "\r\n", "200 OK"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bounded(t, enough, enough, enough, enough)
			conn := b.dial(t)
			go drip(conn, test.head+"\r\nHost: localhost\r\nContent-Type: application/json\r\n\r\n", test.drop)
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, _ := io.ReadAll(res.Body) // the connection may be reset behind it
			if got := res.Status + string(body); !strings.Contains(got, test.want) {
				t.Errorf("answered: %q", got)
			}
			_, _ = io.Copy(io.Discard, conn) // until the server has ended it
		})
	}
}

// TestHugeHeaders proves that headers are refused with a problem, and without one where they are out of all proportion.
func TestHugeHeaders(t *testing.T) {
	t.Parallel()
	b := bounded(t, enough, enough, enough, enough)
	for name, headers := range map[string][]string{
		"one": {"X-Large", long(40_000)}, "many": slicesOf(300, "X-Many", long(128)), "with the address": {"X-Half", long(20_000)},
	} {
		path := pollPath
		if name == "with the address" {
			path += "&type=" + long(20_000)
		}
		got := b.get(t, path, headers...)
		if got.status != http.StatusRequestHeaderFieldsTooLarge || !strings.Contains(got.body, `"code":"headers_too_large"`) {
			t.Errorf("%s: %d: %.200s", name, got.status, got.body)
		}
	}
	if got := b.get(t, pollPath, "X-Large", long(20_000)); got.status != http.StatusOK {
		t.Errorf("20 KB: %d", got.status)
	}
	conn := b.dial(t)
	go drip(conn, "GET "+pollPath+" HTTP/1.1\r\nHost: localhost\r\nX-Endless: ", long(64<<10))
	if got := ended(t, conn); got != "" && !strings.Contains(got, "431 Request Header Fields Too Large") {
		t.Errorf("endless: %.200q", got)
	}
}

func slicesOf(n int, name, value string) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("%s-%d", name, i), value)
	}
	return list
}

// TestSlowReaders proves that a client that asks for much and reads nothing is disconnected.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	b := bounded(t, enough, enough, short, enough)
	pg := b.inbox.page
	large := bin()
	text := *large.Notice
	text.Body = long(1 << 20)
	large.Notice = &text
	const megabytes = 8 // twice of what the kernels take while nobody reads
	for range megabytes {
		pg.Notices = append(pg.Notices, notice.View{Score: large.Score, Notice: large.Notice})
	}
	b.inbox.put(pg)
	conn := b.dial(t)
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", pollPath); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() bool { return strings.Contains(b.log.String(), "Request was answered.") }, enough) // its handler has ended
	if got := ended(t, conn); len(got) >= megabytes<<20 {
		t.Error("a client that did not read has the whole answer")
	}
}

// TestIdleConnections proves that an idle connection is closed.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	b := bounded(t, enough, enough, enough, short)
	conn := b.dial(t)
	if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if got := ended(t, conn); !strings.Contains(got, "alive") {
		t.Errorf("%q", got)
	}
}
