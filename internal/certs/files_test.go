package certs_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/certs"
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

// TestTheLastGoodStays walks files through a life of faults, each of which is told once.
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
