package otlp_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tallyman/internal/testenv"
	"tallyman/internal/trace/otlp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A collector that hangs keeps nobody waiting, however many spans there are; and no key of its is logged.
func TestACollectorThatHangs(t *testing.T) {
	t.Parallel()
	hangs := make(chan struct{})
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hangs:
		case <-r.Context().Done():
		}
	}))
	defer collector.Close()
	out := &testenv.Output{}
	e, err := otlp.Open(t.Context(), &otlp.Options{
		Endpoint: collector.URL + "/v1/traces", Headers: map[string]string{"X-Key": "swordfish"}, Sample: 1, Logger: slog.New(slog.NewTextHandler(out, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	made := make(chan struct{})
	go func() {
		defer close(made)
		for range 20_000 { // ten times as many as the queue holds
			_, span := e.Step(t.Context(), "scan")
			span.End(nil)
		}
	}()
	select {
	case <-made:
	case <-time.After(30 * time.Second):
		t.Error("spans wait for the collector")
	}
	close(hangs)
	<-made
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if got := out.String(); strings.Contains(got, "swordfish") || strings.Count(got, "Traces could not be sent") > 1 {
		t.Errorf("logged %s", got)
	}
}
