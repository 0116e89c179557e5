package app_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/config"
)

// What one warehouse sends: requests of the largest size that the API takes, and notices for many subscribers.
const (
	sentAtOnce    = 1000    // notices of a request
	sentBytes     = 8 << 20 // of a request
	sentTo        = 1000    // recipients of a notice
	subscribersOf = 2500    // a type in the warehouse that sends
)

// BenchmarkNeighbours measures how long polls of one warehouse take while another sends the largest requests that the
// API takes, one after the other: beside polls without that load, in the same run. All run on this machine: node,
// PostgreSQL and Redis.
func BenchmarkNeighbours(b *testing.B) {
	for name, body := range map[string]string{"recipients": largestRequest(), "subscribers": requestToSubscribers()} {
		b.Run(name, func(b *testing.B) { benchNeighbours(b, body) })
	}
}

// largestRequest has as many notices, recipients and bytes as a request may have.
func largestRequest() string {
	var body strings.Builder
	body.WriteString(`{"notices":[`)
	each := (sentBytes - 1000) / sentAtOnce
	for i := range sentAtOnce {
		if i > 0 {
			body.WriteByte(',')
		}
		notice := fmt.Sprintf(`{"type":"REP_NOTICE","warehouse":"W1","title":"%d","recipients":["user:0"`, i)
		body.WriteString(notice)
		size := len(notice) + 3
		for to := 1; to < sentTo; to++ {
			next := `,"user:` + strconv.Itoa(to) + `"`
			if size += len(next); size >= each {
				break
			}
			body.WriteString(next)
		}
		body.WriteString("]}")
	}
	body.WriteString("]}")
	return body.String()
}

func requestToSubscribers() string {
	one := `{"type":"REP_NOTICE","warehouse":"W1","title":"to all"}`
	return `{"notices":[` + strings.Repeat(one+",", sentAtOnce-1) + one + `]}`
}

func benchNeighbours(b *testing.B, body string) {
	b.Helper()
	s := newSite(b)
	server := s.realServers()
	for i := range subscribersOf {
		s.cfg.Subscriptions.Seed = append(s.cfg.Subscriptions.Seed, config.Subscription{Type: "REP_NOTICE", Warehouse: "W1", Subscriber: fmt.Sprintf("user:%d", i)})
	}
	n := s.start("one")
	if code, answer := n.do(http.MethodPost, "/api/v1/notices", "application/json", `{"notices":[{"type":"REP_NOTICE","warehouse":"119240","title":"there"}]}`); code != http.StatusCreated {
		b.Fatalf("%d %s", code, answer)
	}
	cursor := n.await(url.Values{}, 1).Cursor
	admin := server.Client(b)
	for name, value := range map[string]string{"slowlog-log-slower-than": "1000", "slowlog-max-len": "100000"} {
		if err := admin.ConfigSet(b.Context(), name, value).Err(); err != nil {
			b.Fatal(err)
		}
	}
	polls := func(until <-chan struct{}) []time.Duration {
		var took []time.Duration
		for {
			began := time.Now()
			if code, _ := n.poll(url.Values{"after": {cursor}}); code != http.StatusOK {
				b.Errorf("the poll answers %d", code)
			}
			took = append(took, time.Since(began))
			select {
			case <-until:
				return took
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	var alone, beside []time.Duration
	requests := 0
	for b.Loop() {
		quiet := make(chan struct{})
		time.AfterFunc(3*time.Second, func() { close(quiet) })
		alone = append(alone, polls(quiet)...)

		busy := make(chan struct{})
		var sender sync.WaitGroup
		sender.Go(func() {
			defer close(busy)
			for end := time.Now().Add(8 * time.Second); time.Now().Before(end); requests++ {
				if code, answer := n.do(http.MethodPost, "/api/v1/notices", "application/json", body); code != http.StatusCreated {
					b.Errorf("%d %s", code, answer)
					return
				}
			}
		})
		beside = append(beside, polls(busy)...)
		sender.Wait()
	}
	slow, err := admin.SlowLogGet(b.Context(), 100_000).Result()
	if err != nil {
		b.Fatal(err)
	}
	slowest := slices.MaxFunc(append(slow, redis.SlowLog{}), func(x, y redis.SlowLog) int { return int(x.Duration - y.Duration) })
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(requests)/float64(b.N), "requests")
	for name, took := range map[string][]time.Duration{"alone": alone, "beside": beside} {
		slices.Sort(took)
		for part, at := range map[string]int{"p50": len(took) / 2, "p99": len(took) * 99 / 100, "max": len(took) - 1} {
			b.ReportMetric(float64(took[at].Microseconds())/1000, name+"_"+part+"_ms")
		}
	}
	b.ReportMetric(float64(slowest.Duration.Microseconds())/1000, "slowest-call_ms")
}
