package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/api/metrics"
	"tallyman/internal/auth"
	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

// BenchmarkIdlePoll holds idle polls of 200 keep-alive clients against a bare net/http handler that makes one Redis GET per
// request: same run, same Redis, same clients, in turns. The goal is a ratio of at least 0.6. The clients poll one warehouse,
// or one each, where no two can share a read. Polls must not ask the ledger.
func BenchmarkIdlePoll(b *testing.B) {
	for _, warehouses := range []int{1, 200} {
		b.Run(fmt.Sprintf("warehouses=%d", warehouses), func(b *testing.B) { benchIdlePoll(b, warehouses) })
	}
}

const (
	benchClients = 200
	turn         = 500 * time.Millisecond
)

func benchIdlePoll(b *testing.B, warehouses int) {
	b.Helper()
	server := testenv.Redis(b)
	in := newRealInbox(b, server.Addr)
	ours := serveOurs(b, in)
	bare := serveBare(b, server.Client(b))

	for i := range benchClients {
		in.deliver(b, fmt.Sprintf("W%d", i%warehouses), []string{fmt.Sprintf("user:%d", i)}, fmt.Sprintf("notice %d", i))
	}
	oursClients, bareClients := make([]*rawClient, benchClients), make([]*rawClient, benchClients)
	for i := range benchClients {
		path := fmt.Sprintf("/api/v1/notices?warehouse=W%d&subscriber=user:%d&subscriber=role:keeper", i%warehouses, i)
		oursClients[i] = dialRaw(b, ours)
		path, tag := oursClients[i].catchUp(b, path)
		oursClients[i].ask(path, "If-None-Match: "+tag)
		bareClients[i] = dialRaw(b, bare)
		bareClients[i].ask(path, "If-None-Match: "+tag)
	}
	asked := in.ledger.asked.Load()
	pollAll(b, oursClients, http.StatusNotModified) // both warm
	pollAll(b, bareClients, http.StatusOK)
	var oursN, bareN int64
	var took time.Duration
	for b.Loop() {
		bareN += pollAll(b, bareClients, http.StatusOK)
		oursN += pollAll(b, oursClients, http.StatusNotModified)
		took += turn
	}
	if n := in.ledger.asked.Load() - asked; n != 0 {
		b.Errorf("the polls asked the ledger %d times", n)
	}
	b.ReportMetric(float64(oursN)/took.Seconds(), "polls/s")
	b.ReportMetric(float64(bareN)/took.Seconds(), "bare-polls/s")
	b.ReportMetric(float64(oursN)/float64(bareN), "ratio(goal≥0.6)")
}

// BenchmarkLegacyPoll has idle polls of old clients, most of which know no ETag, beside idle polls of new ones.
func BenchmarkLegacyPoll(b *testing.B) {
	in := newRealInbox(b, testenv.Redis(b).Addr)
	addr := serveOurs(b, in)
	old, tagged, polls := make([]*rawClient, benchClients), make([]*rawClient, benchClients), make([]*rawClient, benchClients)
	for i := range benchClients {
		in.deliver(b, "W0", []string{fmt.Sprintf("user:%d", i)}, fmt.Sprintf("notice %d", i))
	}
	<-time.After(10 * time.Millisecond) // nothing is held back any more
	for i := range benchClients {
		polls[i], old[i], tagged[i] = dialRaw(b, addr), dialRaw(b, addr), dialRaw(b, addr)
		path, tag := polls[i].catchUp(b, fmt.Sprintf("/api/v1/notices?warehouse=W0&subscriber=user:%d&subscriber=role:keeper", i))
		polls[i].ask(path, "If-None-Match: "+tag)
		path = fmt.Sprintf(legacyPath+"?whId=W0&subscriberIdList=%d,role:keeper&lastFetchTimeStamp=%d", i, time.Now().UnixMilli())
		old[i].ask(path, "X: y")
		_, tag = tagged[i].catchUp(b, path)
		tagged[i].ask(path, "If-None-Match: "+tag)
	}
	var oldN, taggedN, pollsN int64
	var took time.Duration
	for b.Loop() {
		pollsN += pollAll(b, polls, http.StatusNotModified)
		oldN += pollAll(b, old, http.StatusOK)
		taggedN += pollAll(b, tagged, http.StatusNotModified)
		took += turn
	}
	b.ReportMetric(float64(oldN)/took.Seconds(), "legacy-polls/s")
	b.ReportMetric(float64(taggedN)/took.Seconds(), "legacy-etag-polls/s")
	b.ReportMetric(float64(pollsN)/took.Seconds(), "polls/s")
	b.ReportMetric(float64(oldN)/float64(pollsN), "ratio")
}

func serveOurs(b *testing.B, in *realInbox) string {
	b.Helper()
	m, err := metrics.New("bench", "go")
	if err != nil {
		b.Fatal(err)
	}
	a := newAPI(&parts{
		Inbox: in, Catalogue: newFakeCatalogue(), Auth: auth.None{}, Gatherer: m.Gatherer(), Meter: m, Logger: slog.New(slog.DiscardHandler),
		Status: func(context.Context) (wire.StatusReport, error) { return wire.StatusReport{}, nil },
		Ready:  func(context.Context) error { return nil },
	})
	return serve(b, a.Serve)
}

func serveBare(b *testing.B, client *redis.Client) string {
	b.Helper()
	if err := client.Set(b.Context(), "bare", "v1", 0).Err(); err != nil {
		b.Fatal(err)
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := client.Get(r.Context(), "bare").Result()
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, v)
	})
	return serve(b, func(ctx context.Context, ln net.Listener) error {
		server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Second}
		context.AfterFunc(ctx, func() { _ = server.Close() })
		if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
}

// serve runs a server until the end of the benchmark and returns its address.
func serve(b *testing.B, run func(context.Context, net.Listener) error) string {
	b.Helper()
	ln, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background()) //nolint:usetesting // it ends in the cleanup, which waits for the server
	done := make(chan error, 1)
	go func() { done <- run(ctx, ln) }()
	b.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	return ln.Addr().String()
}

// rawClient is a keep-alive connection that costs little, so that the servers are what is measured.
type rawClient struct {
	conn    net.Conn
	in      *bufio.Reader
	request []byte
}

func dialRaw(b *testing.B, addr string) *rawClient {
	b.Helper()
	conn, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	return &rawClient{conn: conn, in: bufio.NewReader(conn)}
}

// ask sets the request that poll sends.
func (c *rawClient) ask(path, header string) {
	c.request = fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: wms\r\nAccept: application/json\r\n%s\r\n\r\n", path, header)
}

// catchUp polls until nothing is new, and returns the idle poll.
func (c *rawClient) catchUp(b *testing.B, path string) (idle, tag string) {
	b.Helper()
	c.ask(path, "X: y")
	if _, err := c.conn.Write(c.request); err != nil {
		b.Fatal(err)
	}
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		b.Fatal(resp.Status, string(body), err)
	}
	_, rest, _ := strings.Cut(string(body), `"cursor":"`)
	cursor, _, _ := strings.Cut(rest, `"`)
	return path + "&after=" + cursor, resp.Header.Get("ETag")
}

// poll makes one request and returns the status.
func (c *rawClient) poll() (int, error) {
	if _, err := c.conn.Write(c.request); err != nil {
		return 0, err
	}
	status, length := 0, 0
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		switch {
		case status == 0:
			status, err = strconv.Atoi(string(line[9:12]))
		case len(line) == 2:
			_, err = c.in.Discard(length)
			return status, err
		default:
			if value, ok := strings.CutPrefix(string(line), "Content-Length: "); ok {
				length, err = strconv.Atoi(strings.TrimSpace(value))
			}
		}
		if err != nil {
			return 0, err
		}
	}
}

// pollAll has every client poll as fast as it can, and returns the number of answers.
func pollAll(b *testing.B, clients []*rawClient, want int) int64 {
	b.Helper()
	var n atomic.Int64
	var wg sync.WaitGroup
	end := time.Now().Add(turn)
	for _, c := range clients {
		wg.Go(func() {
			for time.Now().Before(end) {
				status, err := c.poll()
				if err != nil || status != want {
					b.Errorf("status %d, want %d; %v", status, want, err)
					return
				}
				n.Add(1)
			}
		})
	}
	wg.Wait()
	return n.Load()
}
