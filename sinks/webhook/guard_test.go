package webhook_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"tallyman/internal/testenv"
	"tallyman/sinks/guard"
	"tallyman/sinks/webhook"
)

// TestGuard tests that a name that leads to this machine is refused before a connection is made.
func TestGuard(t *testing.T) {
	t.Parallel()
	server := testenv.NewHTTPServer(t)
	for _, address := range []string{"127.0.0.1", "169.254.169.254", "10.0.0.1", "0.0.0.0"} {
		w := guarded(t, webhook.Options{URL: url("hook.example.com", server), Resolver: names(t, address)})
		if err := push(t, w, one(1)); !has(err, "no connection to hook.example.com:", ": "+address+" is ", guard.ErrRefused.Error(), "allow_private") {
			t.Errorf("%s: %v", address, err)
		}
	}
	w := newWebhook(t, webhook.Options{URL: url("hook.example.com", server), Resolver: names(t, "127.0.0.1")})
	if err := push(t, w, one(1)); err != nil {
		t.Errorf("allowed: %v", err)
	}
	if n := server.Asked(); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
}

// TestRebinding tests a name that first leads to an allowed address, and a moment later to a private one. The second
// call is refused. In this test, 127.0.0.2 stands for the public internet.
func TestRebinding(t *testing.T) {
	t.Parallel()
	server := testenv.UnstartedHTTPServer(t)
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	w := guarded(t, webhook.Options{URL: url("hook.example.com", server), Resolver: names(t, "127.0.0.2", "127.0.0.1")})
	w.Judge(func(network, address string, c syscall.RawConn) error {
		if host, _, _ := net.SplitHostPort(address); host == "127.0.0.2" {
			return nil
		}
		return guard.Control(network, address, c)
	})
	if err := push(t, w, one(1)); err != nil {
		t.Fatalf("the first address: %v", err)
	}
	w.Close() // so that the next call asks for the name again
	if err := push(t, w, one(2)); !has(err, guard.ErrRefused.Error()) {
		t.Errorf("the second address: %v", err)
	}
	if n := server.Asked(); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
}

// TestNoProxy tests that a proxy of the environment is not used, because the guard would not see the server's address.
func TestNoProxy(t *testing.T) {
	proxy := testenv.NewHTTPServer(t)
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	t.Setenv("ALL_PROXY", proxy.URL)
	w := newWebhook(t, webhook.Options{URL: "http://hook.example.invalid/", Resolver: names(t, "127.0.0.9")})
	if err := push(t, w, one(1)); err == nil || errors.Is(err, guard.ErrRefused) {
		t.Error(err)
	}
	if proxy.Asked() != 0 {
		t.Error("the proxy of the environment was asked")
	}
}
