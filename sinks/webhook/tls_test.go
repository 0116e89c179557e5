package webhook_test

import (
	"crypto/tls"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tallyman/internal/testenv"
	"tallyman/sinks/webhook"
)

// tlsServer is a server with a certificate of the authority's for the name; with clients, it wants theirs, too.
func tlsServer(t *testing.T, a *testenv.Authority, name string, clients *testenv.Authority) *testenv.HTTPServer {
	t.Helper()
	server := testenv.UnstartedHTTPServer(t)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{a.Pair(name)}}
	if clients != nil {
		server.TLS.ClientAuth, server.TLS.ClientCAs = tls.RequireAndVerifyClientCert, clients.Pool()
	}
	server.EnableHTTP2 = true
	server.StartTLS()
	return server
}

// TestAuthority proves whose certificates are believed, and under which name.
func TestAuthority(t *testing.T) {
	t.Parallel()
	a, other := testenv.NewAuthority(t, "ours"), testenv.NewAuthority(t, "another")
	server := tlsServer(t, a, "hook.example.com", nil)
	for name, test := range map[string]struct {
		tls  webhook.TLS
		want string // "" = taken
	}{
		"its authority":         {tls: webhook.TLS{CA: a.File()}},
		"with its name":         {tls: webhook.TLS{CA: a.File(), ServerName: "hook.example.com"}},
		"the system's":          {want: "certificate"},
		"another authority":     {tls: webhook.TLS{CA: other.File()}, want: "certificate"},
		"another server's name": {tls: webhook.TLS{CA: a.File(), ServerName: "other.example.com"}, want: "other.example.com"},
	} {
		err := push(t, newWebhook(t, webhook.Options{URL: server.URL, TLS: test.tls}), one(1))
		if test.want == "" && err != nil || test.want != "" && !has(err, "no connection to", test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if r := server.Requests(); len(r) != 2 || r[0].Proto != "HTTP/2.0" {
		t.Errorf("the server got %d requests", len(r))
	}
}

// TestOldTLS proves that TLS 1.1 is refused.
func TestOldTLS(t *testing.T) {
	t.Parallel()
	a := testenv.NewAuthority(t, "ours")
	server := testenv.UnstartedHTTPServer(t)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{a.Pair("x")}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	server.StartTLS()
	if err := push(t, newWebhook(t, webhook.Options{URL: server.URL, TLS: webhook.TLS{CA: a.File()}}), one(1)); !has(err, "protocol version") {
		t.Error(err)
	}
}

// TestNoTLS tests that the error says so if a server does not speak TLS.
func TestNoTLS(t *testing.T) {
	t.Parallel()
	server := testenv.NewHTTPServer(t)
	w := newWebhook(t, webhook.Options{URL: strings.Replace(server.URL, "http:", "https:", 1)})
	if err := push(t, w, one(1)); !has(err, "no connection to", "TLS") {
		t.Error(err)
	}
}

// TestReload tests that a replaced client certificate or authority is used from the next connection on. A file that is
// being replaced stops nothing.
func TestReload(t *testing.T) {
	t.Parallel()
	servers, before, after := testenv.NewAuthority(t, "servers"), testenv.NewAuthority(t, "clients before"), testenv.NewAuthority(t, "clients after")
	dir := t.TempDir()
	files := webhook.TLS{CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	give := func(a *testenv.Authority) {
		cert, key := a.Issue("tallyman")
		write(t, files.Cert, cert)
		write(t, files.Key, key)
	}
	write(t, files.CA, testenv.PEM("CERTIFICATE", servers.Cert.Raw))
	give(before)
	old, fresh := tlsServer(t, servers, "hook", before), tlsServer(t, servers, "hook", after)
	logged := &testenv.Output{}
	logger := slog.New(slog.NewTextHandler(logged, nil))
	toOld := newWebhook(t, webhook.Options{URL: old.URL, TLS: files, Logger: logger})
	toFresh := newWebhook(t, webhook.Options{URL: fresh.URL, TLS: files, Logger: logger})
	if err := push(t, toOld, one(1)); err != nil {
		t.Errorf("before: %v", err)
	}
	if err := push(t, toFresh, one(1)); err == nil {
		t.Error("a server that wants another certificate has taken it")
	}

	write(t, files.Cert, []byte("half a certif"))
	for range 3 {
		toOld.Close()
		if err := push(t, toOld, one(2)); err != nil {
			t.Errorf("in the middle of it: %v", err)
		}
	}
	if n := strings.Count(logged.String(), "cannot be read"); n != 1 {
		t.Errorf("logged %d times", n)
	}

	give(after)
	if err := push(t, toFresh, one(3)); err != nil {
		t.Errorf("after: %v", err)
	}
	toOld.Close()
	if err := push(t, toOld, one(3)); err == nil {
		t.Error("the certificate of before is still in use")
	}

	write(t, files.CA, testenv.PEM("CERTIFICATE", after.Cert.Raw))
	toFresh.Close()
	if err := push(t, toFresh, one(4)); !has(err, "certificate") {
		t.Errorf("an authority that is not trusted any more: %v", err)
	}
	if err := os.Remove(files.CA); err != nil {
		t.Fatal(err)
	}
	if err := push(t, toFresh, one(5)); !has(err, "certificate") || strings.Count(logged.String(), "no such file") != 1 {
		t.Errorf("without the file: %v", err)
	}
}
