package api_test

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/api"
	"tallyman/internal/certs"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
)

const enough = 20 * time.Second

// pairFiles are a certificate and its key, reached by a link as secrets of Kubernetes are.
type pairFiles struct {
	t   *testing.T
	dir string
}

func (f pairFiles) cert() string { return filepath.Join(f.dir, "current", "tls.crt") }
func (f pairFiles) key() string  { return filepath.Join(f.dir, "current", "tls.key") }

// give makes a folder with the pair and has the link lead there.
func (f pairFiles) give(version string, cert, key []byte) {
	f.t.Helper()
	folder, next := filepath.Join(f.dir, version), filepath.Join(f.dir, "next")
	if err := errors.Join(
		os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "tls.crt"), cert, 0o600), os.WriteFile(filepath.Join(folder, "tls.key"), key, 0o600),
		os.Symlink(version, next), os.Rename(next, filepath.Join(f.dir, "current")),
	); err != nil {
		f.t.Fatal(err)
	}
}

// tlsBundle is an API that serves TLS with the pair.
func tlsBundle(t *testing.T, a *testenv.Authority, least uint16) (*bundle, pairFiles) {
	t.Helper()
	files := pairFiles{t, t.TempDir()}
	cert, key := a.Issue("first")
	files.give("v1", cert, key)
	b := newBundle(func(d *parts) {
		pair, err := certs.OpenPair(files.cert(), files.key(), d.Logger)
		if err != nil {
			t.Fatal(err)
		}
		d.HTTP.TLS = &api.TLS{Pair: pair, Least: least}
	})
	stop := b.serve(t)
	t.Cleanup(func() {
		b.client.CloseIdleConnections()
		if err := <-stop(); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	b.url = strings.Replace(b.url, "http:", "https:", 1)
	b.client = clientOf(a)
	return b, files
}

func clientOf(a *testenv.Authority) *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.Pool()}, ForceAttemptHTTP2: true}}
}

// shown is the name on the certificate that a new connection gets.
func (b *bundle) shown(t *testing.T, a *testenv.Authority) string {
	t.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(b.url, "https://"), &tls.Config{RootCAs: a.Pool()})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
}

// TestRenewal proves with real handshakes that a pair is taken in without a restart, that a bad one is not, and that those who are
// connected notice nothing of it.
func TestRenewal(t *testing.T) {
	t.Parallel()
	a := testenv.NewAuthority(t, "authority")
	b, files := tlsBundle(t, a, 0)
	if got := b.get(t, pollPath); got.status != http.StatusOK || got.header.Get("Strict-Transport-Security") == "" {
		t.Fatalf("%+v", got)
	}
	waiting := b.later(t, pollPath+"&wait=60s")
	b.inbox.awaitWaiters(1)

	cert, _ := a.Issue("half")
	_, key := a.Issue("another")
	files.give("v2", cert, key)
	testenv.Eventually(t, func() bool {
		return b.shown(t, a) == "first" && strings.Contains(b.log.String(), "could not be reloaded")
	}, enough)
	if err := b.deps.HTTP.TLS.Pair.Check(); err == nil || !strings.Contains(err.Error(), "the previous certificate stays in use") {
		t.Errorf("/status says: %v", err)
	}

	cert, key = a.Issue("second")
	files.give("v3", cert, key)
	testenv.Eventually(t, func() bool { return b.shown(t, a) == "second" }, enough)
	if err := b.deps.HTTP.TLS.Pair.Check(); err != nil {
		t.Errorf("/status says: %v", err)
	}
	pg := b.inbox.page
	pg.Version, pg.Notices = "v1", []notice.View{bin()}
	b.inbox.put(pg)
	if got := <-waiting; got.status != http.StatusOK {
		t.Errorf("the poll that waited all the time: %d", got.status)
	}
	if n := strings.Count(b.log.String(), "could not be reloaded"); n != 1 {
		t.Errorf("the bad pair was logged %d times", n)
	}
}

// TestHandshakes proves which versions are spoken, and that HTTP/2 is.
func TestHandshakes(t *testing.T) {
	t.Parallel()
	a := testenv.NewAuthority(t, "authority")
	for _, least := range []uint16{0, tls.VersionTLS13} {
		b, _ := tlsBundle(t, a, least)
		for _, version := range []uint16{tls.VersionTLS11, tls.VersionTLS12, tls.VersionTLS13} {
			conn, err := tls.Dial("tcp", strings.TrimPrefix(b.url, "https://"), &tls.Config{
				RootCAs: a.Pool(), MinVersion: tls.VersionTLS10, MaxVersion: version, NextProtos: []string{"h2"},
			})
			if want := version >= max(least, tls.VersionTLS12); (err == nil) != want {
				t.Errorf("least %x, %x: %v", least, version, err)
			}
			if err == nil {
				if p := conn.ConnectionState().NegotiatedProtocol; p != "h2" {
					t.Errorf("it speaks %q", p)
				}
				conn.Close()
			}
		}
	}
}

// TestPlainHTTPAtTLS: a client that uses http instead of https gets a helpful answer.
func TestPlainHTTPAtTLS(t *testing.T) {
	t.Parallel()
	b, _ := tlsBundle(t, testenv.NewAuthority(t, "authority"), 0)
	b.url = strings.Replace(b.url, "https:", "http:", 1)
	if got := b.get(t, pollPath); got.status != http.StatusBadRequest || !strings.Contains(got.body, "HTTPS server") {
		t.Errorf("%d: %s", got.status, got.body)
	}
}

// TestPairsOfOthers proves that a node does not start with files that are no pair.
func TestPairsOfOthers(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(name, slices.Repeat([]byte("x"), 10), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := certs.OpenPair(name, name, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), name) {
		t.Error(err)
	}
}
