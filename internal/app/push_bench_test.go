//go:build linux

package app_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/app"
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/postgres"
	"tallyman/internal/ledger/sqlite"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
	"tallyman/rules/catalog"
	"tallyman/sinks/push"
	"tallyman/sinks/sinktest"
	"tallyman/sinks/webhook"
)

// receiver takes what is posted, and says when it has had so many.
type receiver struct {
	*httptest.Server

	got  atomic.Int64
	want int64
	done chan struct{}
}

func newReceiver(b *testing.B) *receiver {
	b.Helper()
	r := &receiver{done: make(chan struct{}, 1), want: dueDeliveries}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			b.Error(err)
		}
		w.WriteHeader(http.StatusNoContent)
		if r.got.Add(1)%r.want == 0 {
			r.done <- struct{}{}
		}
	}))
	b.Cleanup(r.Close)
	return r
}

// BenchmarkWebhook delivers 10,000 due notices to a webhook on loopback, 64 at a time, from a ledger (fsync on), until
// the last is recorded as sent. BenchmarkPlainClient is what there is to compare it with. Of both, a first round is not
// measured, which makes connections and plans.
func BenchmarkWebhook(b *testing.B) {
	b.Run("postgres", func(b *testing.B) {
		url := testenv.Postgres(b)
		_, err := postgres.Migrate(b.Context(), url)
		if err != nil {
			b.Fatal(err)
		}
		l, err := postgres.Open(b.Context(), url, ledger.Options{})
		if err != nil {
			b.Fatal(err)
		}
		ageLog(b, url)
		benchWebhook(b, l, newMeter(b, url))
	})
	b.Run("sqlite", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "ledger.db")
		_, err := sqlite.Migrate(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		l, err := sqlite.Open(b.Context(), path, ledger.Options{})
		if err != nil {
			b.Fatal(err)
		}
		benchWebhook(b, l, newMeter(b, ""))
	})
}

// ageLog makes the server's log what it is at one that has run for a while: it writes over files that it has, instead
// of making new ones.
func ageLog(b *testing.B, url string) {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close(b.Context()) }()
	for range 20 { // of 16 MB each: more than the rounds write
		if _, err := conn.Exec(b.Context(), "SELECT pg_logical_emit_message(false, 'bench', ''), pg_switch_wal()"); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := conn.Exec(b.Context(), "CHECKPOINT"); err != nil {
		b.Fatal(err)
	}
}

func benchWebhook(b *testing.B, l ledger.Ledger, cpu *meter) {
	b.Helper()
	defer app.SpareHeap()() // as a node does
	defer func() { _ = l.Close() }()
	if err := l.PutType(b.Context(), ledger.Author{By: "user:ann", Via: ledger.ViaLocal}, catalog.Type{Code: "REP_NOTICE", ID: 124719, Name: "Replenishment notice", Retention: 72 * time.Hour}); err != nil {
		b.Fatal(err)
	}
	r := newReceiver(b)
	w, err := webhook.New(webhook.Options{URL: r.URL, Secrets: []string{"swordfish"}, AllowPrivate: true, Connections: callsAtATime})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	deliverAll := func() time.Duration {
		runner, err := push.New(push.Options{
			Sink: "gateway", Session: sinktest.Session("one"), Ledger: l, Pusher: w, Concurrency: callsAtATime,
		})
		if err != nil {
			b.Fatal(err)
		}
		ctx, stop := context.WithCancel(b.Context())
		var running sync.WaitGroup
		start := time.Now()
		running.Go(func() { runner.Run(ctx) })
		<-r.done
		stop()
		running.Wait() // the last are recorded
		return time.Since(start)
	}
	sendDue(b, l, 0)
	deliverAll()
	var took time.Duration
	for n := range b.N {
		sendDue(b, l, n+1)
		cpu.during(b, func() { took += deliverAll() })
	}
	cpu.report(b, dueDeliveries*b.N)
	counts, err := l.CountDeliveries(b.Context())
	if err != nil || counts["gateway"][ledger.DeliverySent] != int64(min(dueDeliveries*(b.N+1), ledger.MostCounted)) {
		b.Fatalf("%v, %v", counts, err)
	}
	b.ReportMetric(float64(dueDeliveries*b.N)/took.Seconds(), "deliveries/s")
	b.ReportMetric(0, "ns/op")
}

// sendDue makes the deliveries, each of a notice of its own.
func sendDue(b *testing.B, l ledger.Ledger, round int) {
	b.Helper()
	for from := 0; from < dueDeliveries; from += 1000 {
		list := make([]ledger.NewNotice, 1000)
		for i := range list {
			list[i] = ledger.NewNotice{
				Notice: benchNotice(fmt.Sprintf("n_%d_%d", round, from+i)),
				Sinks:  []ledger.Target{{Sink: "gateway", Strategy: &delivery.Strategy{Kind: delivery.Important}}},
			}
		}
		if _, err := l.Send(b.Context(), list); err != nil {
			b.Fatal(err)
		}
	}
}

func benchNotice(id string) *notice.Notice {
	now := time.Now().UTC().Truncate(time.Microsecond)
	return &notice.Notice{
		ID: id, Type: "REP_NOTICE", TypeID: 124719, Warehouse: "119240", Status: notice.Sent, Priority: 3, Modal: "popup",
		Title: "Bin A-01 is at -3", Body: "S1 in A-01 went to -3 in wave 77. Replenish it.", Count: 1, CreatedAt: now, ExpiresAt: now.Add(time.Hour),
		Data: []notice.Field{{Name: "bin", Value: "A-01"}, {Name: "qty", Value: "-3"}},
	}
}

// BenchmarkPlainClient posts the same notices in a loop around net/http's client, without a ledger, signatures or
// guards.
func BenchmarkPlainClient(b *testing.B) {
	r := newReceiver(b)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callsAtATime, MaxConnsPerHost: callsAtATime}}
	defer client.CloseIdleConnections()
	notices := make([]*notice.Notice, dueDeliveries)
	for i := range notices {
		notices[i] = benchNotice(fmt.Sprintf("n_0_%d", i))
	}
	postAll(b, client, r.URL, notices)
	<-r.done
	cpu := newMeter(b, "")
	start := time.Now()
	cpu.during(b, func() {
		for range b.N {
			postAll(b, client, r.URL, notices)
			<-r.done
		}
	})
	b.ReportMetric(float64(dueDeliveries*b.N)/time.Since(start).Seconds(), "deliveries/s")
	cpu.report(b, dueDeliveries*b.N)
	b.ReportMetric(0, "ns/op")
}

// postAll posts each notice, so many at a time. As whoever delivers notices must, it makes the body of each.
func postAll(b *testing.B, client *http.Client, url string, notices []*notice.Notice) {
	b.Helper()
	var begun atomic.Int64
	var posting sync.WaitGroup
	for range callsAtATime {
		posting.Go(func() {
			for {
				i := int(begun.Add(1)) - 1
				if i >= len(notices) {
					return
				}
				if err := post(b.Context(), client, url, notices[i]); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	posting.Wait()
}

func post(ctx context.Context, client *http.Client, url string, n *notice.Notice) error {
	body, err := n.MarshalJSON()
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
