package certs_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/certs"
	"tallyman/internal/testenv"
)

// words is a Files of one file, whose text is good if it does not contain "bad", and what it has told.
func words(t *testing.T, name string, every time.Duration) (*certs.Files[string], *[]string) {
	t.Helper()
	told := new([]string)
	f, err := certs.Open(certs.Options[string]{
		Names: []string{name, ""}, Every: every,
		Parse: func(c [][]byte) (string, error) {
			if s := string(c[0]); !strings.Contains(s, "bad") && c[1] == nil {
				return s, nil
			}
			return "", errors.New("no good: " + string(c[0]))
		},
		Told: func(inUse string, err error) {
			if err != nil {
				inUse += " and " + err.Error()
			}
			*told = append(*told, inUse)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return f, told
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTheLastGoodStays walks files through a series of faults. Each fault is reported once.
func TestTheLastGoodStays(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	put(t, name, "one")
	f, told := words(t, name, 0)
	want := func(inUse string, broken bool, tellings int) {
		t.Helper()
		for range 3 {
			if got, err := f.Get(); got != inUse || (err != nil) != broken {
				t.Errorf("got %q, %v; want %q, broken %t", got, err, inUse, broken)
			}
		}
		if len(*told) != tellings {
			t.Errorf("told %q, want %d", *told, tellings)
		}
	}
	want("one", false, 0)
	put(t, name, "bad 1")
	want("one", true, 1)
	put(t, name, "bad 2")
	want("one", true, 2)
	put(t, name, "two")
	want("two", false, 3)
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	want("two", true, 4)
	put(t, name, "two") // the same as before: it is good again
	want("two", false, 5)
	put(t, name, "bad 1")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	want("two", true, 6)
	put(t, name, "bad 3")
	want("two", true, 7)
}

// TestSymlinkSwap proves that a file that is reached by a link counts as soon as the link leads elsewhere, as secrets of Kubernetes do.
func TestSymlinkSwap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, version := range []string{"v1", "v2"} {
		if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, version, "file"), version)
	}
	link := func(to string) {
		t.Helper()
		next := filepath.Join(dir, "next")
		if err := errors.Join(os.Symlink(to, next), os.Rename(next, filepath.Join(dir, "data"))); err != nil {
			t.Fatal(err)
		}
	}
	link("v1")
	f, _ := words(t, filepath.Join(dir, "data", "file"), 0)
	link("v2")
	if got, err := f.Get(); got != "v2" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestLooksAreBounded proves that a busy server does not read its files for each connection.
func TestLooksAreBounded(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	put(t, name, "one")
	synctest.Test(t, func(t *testing.T) {
		f, _ := words(t, name, time.Minute)
		put(t, name, "two")
		time.Sleep(59 * time.Second) //nolint:forbidigo // in a bubble
		if got, _ := f.Get(); got != "one" {
			t.Errorf("after 59 s: %q", got)
		}
		time.Sleep(time.Second) //nolint:forbidigo // in a bubble
		if got, _ := f.Get(); got != "two" {
			t.Errorf("after a minute: %q", got)
		}
	})
}

// TestOpenNeedsGoodFiles proves that there is nothing to fall back to at the start.
func TestOpenNeedsGoodFiles(t *testing.T) {
	t.Parallel()
	_, err := certs.Open(certs.Options[int]{Names: []string{filepath.Join(t.TempDir(), "missing")}})
	if !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// files are a pair in a folder.
type files struct{ cert, key string }

func newFiles(t *testing.T) files {
	t.Helper()
	dir := t.TempDir()
	return files{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
}

func (f files) put(t *testing.T, cert, key []byte) {
	t.Helper()
	put(t, f.cert, string(cert))
	put(t, f.key, string(key))
}

func TestPairsThatAreNoGood(t *testing.T) {
	t.Parallel()
	a := testenv.NewAuthority(t, "authority")
	cert, key := a.Issue("api")
	_, other := a.Issue("api")
	chain := append(slices.Clip(cert), testenv.PEM("CERTIFICATE", a.Cert.Raw)...)
	for name, test := range map[string]struct {
		cert, key []byte
		want      string // "" = good
	}{
		"good":           {cert, key, ""},
		"with authority": {chain, key, ""},
		"half a chain":   {chain[:len(chain)-60], key, "ends in the middle"},
		"half a key":     {cert, key[:len(key)/2], "key"},
		"another's key":  {cert, other, "does not match"},
		"nothing":        {nil, nil, "find any PEM"},
	} {
		f := newFiles(t)
		f.put(t, test.cert, test.key)
		_, err := certs.OpenPair(f.cert, f.key, slog.New(slog.DiscardHandler))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestChainsThatAreCut cuts a file anywhere in its second certificate, but for the dashes with which that begins: without it clients that do not
// know the authority between would refuse what is shown to them.
func TestChainsThatAreCut(t *testing.T) {
	t.Parallel()
	a := testenv.NewAuthority(t, "authority")
	cert, key := a.Issue("api")
	chain := append(slices.Clip(cert), testenv.PEM("CERTIFICATE", a.Cert.Raw)...)
	for at := len(cert) + len("-----"); at < len(chain)-len("\n"); at++ {
		if _, err := certs.ParsePair(chain[:at], key); err == nil {
			t.Errorf("taken: …%q", chain[max(at-30, 0):at])
		}
	}
	if pair, err := certs.ParsePair(bytes.TrimSpace(chain), key); err != nil || len(pair.Certificate) != 2 {
		t.Errorf("whole: %d certificates, %v", len(pair.Certificate), err)
	}
	if _, err := certs.ParsePair(append([]byte("# of the API -----\n"), append(chain, "# its end\n"...)...), key); err != nil {
		t.Errorf("with words around it: %v", err)
	}
}

// TestWatchTells proves that the log has a bad pair, its repair and its expiry once each, even if no client connects.
func TestWatchTells(t *testing.T) {
	t.Parallel()
	f, a, logged := newFiles(t), testenv.NewAuthority(t, "authority"), &testenv.Output{}
	good, fresh := bytesPair(a.IssueUntil("api", bubbleStart.Add(24*time.Hour))), bytesPair(a.IssueUntil("api", bubbleStart.Add(48*time.Hour)))
	f.put(t, good[0], good[1])
	synctest.Test(t, func(t *testing.T) {
		pair, err := certs.OpenPair(f.cert, f.key, slog.New(slog.NewTextHandler(logged, nil)))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go pair.Watch(ctx)
		said := func(after time.Duration, text string, times int) {
			t.Helper()
			time.Sleep(after) //nolint:forbidigo // in a bubble
			synctest.Wait()
			if n := strings.Count(logged.String(), text); n != times {
				t.Errorf("%q was said %d times, not %d:\n%s", text, n, times, logged.String())
			}
		}
		put(t, f.cert, "half a certif")
		said(time.Minute, "could not be reloaded", 1)
		if err := pair.Check(); err == nil || !strings.Contains(err.Error(), "stays in use until 2000-01-02T00:00:00Z") {
			t.Error(err)
		}
		f.put(t, fresh[0], fresh[1])
		said(time.Minute, "was reloaded", 1)
		if err := pair.Check(); err != nil {
			t.Error(err)
		}
		said(49*time.Hour, "Clients will refuse", 1)
		if err := pair.Check(); err == nil || !strings.Contains(err.Error(), "expired at 2000-01-03T00:00:00Z") {
			t.Error(err)
		}
		if c, err := pair.Config(tls.VersionTLS13).GetCertificate(nil); err != nil || len(c.Certificate) == 0 {
			t.Errorf("a certificate that has run out is still the best there is: %v", err)
		}
	})
}

// TestWatchTellsOfDates proves that the log has each certificate in use that is not valid now, also after a fault of the
// files and during such a fault.
func TestWatchTellsOfDates(t *testing.T) {
	t.Parallel()
	f, a, logged := newFiles(t), testenv.NewAuthority(t, "authority"), &testenv.Output{}
	issue := func(until time.Duration) [2][]byte { return bytesPair(a.IssueUntil("api", bubbleStart.Add(until))) }
	good, over, longOver := issue(24*time.Hour), issue(-time.Minute), issue(-time.Hour)
	f.put(t, good[0], good[1])
	synctest.Test(t, func(t *testing.T) {
		pair, err := certs.OpenPair(f.cert, f.key, slog.New(slog.NewTextHandler(logged, nil)))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go pair.Watch(ctx)
		for _, c := range []struct {
			pair  [2][]byte
			after time.Duration
			times int
		}{
			{[2][]byte{[]byte("half a certif"), good[1]}, time.Minute, 0},
			{over, time.Minute, 1},
			{longOver, time.Minute, 2},
			{good, time.Minute, 2},
			{[2][]byte{[]byte("half a certif"), good[1]}, 25 * time.Hour, 3},
			{good, time.Hour, 3},
		} {
			f.put(t, c.pair[0], c.pair[1])
			time.Sleep(c.after) //nolint:forbidigo // in a bubble
			synctest.Wait()
			if n := strings.Count(logged.String(), "Clients will refuse"); n != c.times {
				t.Errorf("said %d times, not %d:\n%s", n, c.times, logged.String())
			}
		}
	})
}

// bubbleStart is when time begins in a bubble.
var bubbleStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func bytesPair(cert, key []byte) [2][]byte { return [2][]byte{cert, key} }
