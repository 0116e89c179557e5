package chat

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
)

// redirected is a transport that reaches the server under every name, so that the server gets the requests for the
// internet.
func redirected(server *testenv.HTTPServer) *http.Transport {
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "example.com", MinVersion: tls.VersionTLS12}, // which httptest certifies
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		},
	}
}

func tlsServer(t *testing.T) *testenv.HTTPServer {
	t.Helper()
	server := testenv.UnstartedHTTPServer(t)
	server.StartTLS()
	return server
}

// reach is a channel whose calls all go to the server.
func reach(t *testing.T, server *testenv.HTTPServer, o Options) *Channel {
	t.Helper()
	c, err := newChannel(o, redirected(server))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// local is a channel to a server of the tests.
func local(t *testing.T, o Options) *Channel {
	t.Helper()
	o.AllowPrivate = true
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// host is where the server listens.
func host(server *testenv.HTTPServer) string { return server.Listener.Addr().String() }

func someDelivery() delivery.Delivery {
	created := time.Date(2026, 6, 1, 0, 10, 0, 0, time.UTC)
	return delivery.Delivery{Seq: 7, Notice: &notice.Notice{
		ID: "n_aaaaaaaaaaaaaaaaaaaaaaaaaa", Type: "REP_NOTICE", TypeID: 124719, Warehouse: "119240", Rule: "negative-bin-stock",
		Scope: "119240", Key: `[119240,"A-01"]`, Episode: "1780272600000000", Status: notice.Firing, Priority: 4, Modal: "popup",
		Title: "Bin A-01 is at -3", Body: "S1 & <S2> went to -3.\nReplenish \"it\" @all.", Texts: map[string]notice.Text{"zh": {Title: "货位 A-01 库存为 -3"}},
		Data: []notice.Field{{Name: "bin", Value: "A-01"}}, Count: 1, CreatedAt: created, ExpiresAt: created.Add(24 * time.Hour),
	}}
}

func push(t *testing.T, c *Channel) error {
	t.Helper()
	return c.Push(t.Context(), []delivery.Delivery{someDelivery()})
}

// same tells whether two texts are the same JSON.
func same(t *testing.T, got []byte, want string) bool {
	t.Helper()
	var a, b any
	if json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(want), &b) != nil {
		return strings.TrimSpace(string(got)) == strings.TrimSpace(want)
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
