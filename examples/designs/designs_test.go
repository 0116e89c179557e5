// Package designs is a node for five older designs, and tests that play the user of each, by the calls that README.md shows.
package designs

import (
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/internal/app"
	"tallyman/internal/config"
	"tallyman/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const configuration = "examples/designs/tallyman.yaml"

// The chapters share a node and its clock, and so come one after the other.
func TestDesigns(t *testing.T) {
	t.Chdir("../..") // where the calls of the page are made
	service := newPushService(t)
	n := start(t, service)
	n.play(t, "The legacy window", playWindow)
	n.play(t, "Push by alias", service.play)
	n.play(t, "The work order that is put off", playOrder)
	n.play(t, "The daily buffer", playDaily)
	n.play(t, "The worker that dies", playWorker)
}

// node runs with the configuration beside README.md, on a real Redis and PostgreSQL. Its queues have a clock that tests set.
type node struct {
	url string

	ahead atomic.Int64 // of the machine's clock, as a duration
}

func start(t *testing.T, service *pushService) *node {
	t.Helper()
	cfg, err := app.LoadConfig(config.Options{
		File: configuration,
		Env:  []string{"JPUSH_URL=" + service.address()},
		Set: map[string]string{
			"http.listen": "127.0.0.1:0", "redis.url": testenv.Redis(t).URL(), "ledger.url": testenv.Postgres(t),
			"sinks.jpush.allow_private": "true", // the service of the test runs on this machine
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	n, ctx := &node{}, t.Context()
	a, err := app.New(ctx, cfg, app.Options{Node: "one", Migrate: true, QueueNow: n.now, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	n.url = "http://" + a.Addr()
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() { // the context is over
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return n
}

func (n *node) now() time.Time { return time.Now().Add(time.Duration(n.ahead.Load())) }

// pass lets time pass in the queues.
func (n *node) pass(d time.Duration) { n.ahead.Add(int64(d)) }

// passTo lets time pass in the queues until a zone's clocks next show the time.
func (n *node) passTo(t *testing.T, zone string, hour, minute int) {
	t.Helper()
	location, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	now := n.now().In(location)
	then := time.Date(now.Year(), now.Month(), now.Day(), hour, minute, 0, 0, location)
	if then.Before(now) {
		then = then.AddDate(0, 0, 1)
	}
	n.pass(then.Sub(now))
}

// first returns the first word of a text: the id that a command has printed.
func first(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}
