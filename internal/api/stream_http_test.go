package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/testenv"
)

// beat is a while in which none comes.
const beat = 500 * time.Millisecond

// piped is a listener that has one connection, within the process.
type piped struct {
	conns chan net.Conn
	close func()
}

func newPiped() (ln *piped, client net.Conn) {
	client, server := net.Pipe()
	conns := make(chan net.Conn, 1)
	conns <- server
	return &piped{conns: conns, close: sync.OnceFunc(func() { close(conns) })}, client
}

func (p *piped) Accept() (net.Conn, error) {
	if conn, ok := <-p.conns; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (p *piped) Close() error {
	p.close()
	return nil
}

func (p *piped) Addr() net.Addr { return &net.UnixAddr{Name: "piped", Net: "unix"} }

// Whatever the protocol, an idle stream outlives the server's timeouts and its own, and a comment comes every 15 s.
func TestIdleStreamsGoOn(t *testing.T) {
	for name, two := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBundle()
				b.inbox.put(at(1))
				ln, conn := newPiped()
				var protocols http.Protocols
				protocols.SetHTTP1(!two)
				protocols.SetUnencryptedHTTP2(two)
				server := &http.Server{Handler: b.api, Protocols: &protocols, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second}
				served := make(chan error, 1)
				go func() { served <- server.Serve(ln) }()
				transport := &http.Transport{Protocols: &protocols, DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}
				ctx, leave := context.WithTimeout(t.Context(), 2*time.Minute+beat)
				defer leave()
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+streamPath, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := (&http.Client{Transport: transport}).Do(r)
				if err != nil {
					t.Fatal(err)
				}
				if resp.Proto != name && resp.Proto != name+".0" {
					t.Error(resp.Proto)
				}
				text, err := io.ReadAll(resp.Body)
				if n := strings.Count(string(text), "\n:\n"); n != 8 || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%d comments in two minutes, then %v:\n%s", n, err, text)
				}
				if !strings.HasPrefix(string(text), "retry: ") {
					t.Errorf("the stream begins with %.20q", text)
				}
				_ = resp.Body.Close()
				transport.CloseIdleConnections()
				_ = conn.Close()
				if err := server.Close(); err != nil {
					t.Error(err)
				}
				if err := <-served; !errors.Is(err, http.ErrServerClosed) {
					t.Error(err)
				}
			})
		})
	}
}

// Proxies may speak HTTP/1.0, which knows no chunks: the answer ends with the connection.
func TestStreamsOverHTTP10(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.inbox.put(at(1))
	conn := b.dial(t)
	fmt.Fprintf(conn, "GET %s HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\nAccept-Encoding: gzip\r\n\r\n", streamPath)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if !resp.Close || resp.ContentLength != -1 || len(resp.TransferEncoding) != 0 || resp.Header.Get("Content-Encoding") != "" {
		t.Errorf("%+v", resp)
	}
	var got []string
	readEvents(resp.Body, func(e event) bool {
		got = append(got, e.name)
		return len(got) < 2
	})
	if len(got) != 2 || got[0] != "notice" || got[1] != "unread" {
		t.Errorf("%v", got)
	}
}

// A HEAD request gets the head, and no stream.
func TestHeadOfAStream(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got := b.do(t, http.MethodHead, streamPath, "")
	if got.status != http.StatusOK || got.header.Get("Content-Type") != "text/event-stream" || got.body != "" {
		t.Errorf("%d %v %q", got.status, got.header, got.body)
	}
	if n := b.deps.streams.Open(); n != 0 || len(b.inbox.asked()) != 0 {
		t.Errorf("%d streams are open", n)
	}
}

// However many streams there are, of however many warehouses, a node has one subscription in Redis.
func TestStreamsShareASubscription(t *testing.T) {
	t.Parallel()
	redis := testenv.Redis(t)
	ledger := &quietLedger{}
	var nodes []*bundle
	for range 2 {
		nodes = append(nodes, streamingOn(t, newNode(t, redis.Addr, ledger)))
	}
	for i := range 40 {
		path := fmt.Sprintf("/api/v1/notices/stream?warehouse=W%d&subscriber=user:%d", i%4, i)
		nodes[i%2].listen(t, path).next(t, "unread")
	}
	client := redis.Client(t)
	subscribed := func() int64 {
		return client.PubSubNumSub(t.Context(), "tallyman:inbox:hints").Val()["tallyman:inbox:hints"]
	}
	testenv.Eventually(t, func() bool { return subscribed() == 2 }, 20*time.Second) // a node subscribes as soon as it runs
	channels := client.PubSubChannels(t.Context(), "*").Val()
	list, err := client.Do(t.Context(), "CLIENT", "LIST", "TYPE", "pubsub").Text()
	if err != nil || len(channels) != 1 || strings.Count(list, "\n") != 2 {
		t.Errorf("%v, channels %v, connections that are subscribed:\n%s", err, channels, list)
	}
}
