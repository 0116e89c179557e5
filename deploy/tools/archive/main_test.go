package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestSameBytes: neither the time nor the rights nor the place of files are in an archive.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a.tar.gz", "a.zip"} {
		var packed [2][]byte
		for i := range packed {
			folder := filepath.Join(t.TempDir(), "tallyman_1")
			put(t, filepath.Join(folder, "bin", "tallyman"), "program", 0o700+os.FileMode(i)*0o55)
			put(t, filepath.Join(folder, "LICENSE"), "text", 0o600+os.FileMode(i)*0o44)
			if err := os.Chtimes(filepath.Join(folder, "LICENSE"), time.Time{}, time.Unix(int64(i)*1000, 0)); err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(t.TempDir(), name)
			if err := run([]string{folder, out}, "1795840941"); err != nil {
				t.Fatal(err)
			}
			var err error
			if packed[i], err = os.ReadFile(out); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(packed[0], packed[1]) {
			t.Errorf("%s: the same files gave other bytes", name)
		}
		want := []string{"-rw-r--r-- tallyman_1/LICENSE", "-rwxr-xr-x tallyman_1/bin/tallyman", "drwxr-xr-x tallyman_1/", "drwxr-xr-x tallyman_1/bin/"}
		if got := entries(t, name, packed[0]); !slices.Equal(got, want) {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
}

// TestRefused: without a time no archive is made, and a link is no file of a release.
func TestRefused(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := run([]string{folder, filepath.Join(t.TempDir(), "a.zip")}, ""); err == nil {
		t.Error("an archive without a time was made")
	}
	if err := os.Symlink("elsewhere", filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{folder, filepath.Join(t.TempDir(), "a.zip")}, "1"); err == nil {
		t.Error("a link was packed")
	}
}

func put(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// entries returns the modes and names in an archive, sorted. Every entry must have the time of the release.
func entries(t *testing.T, name string, packed []byte) []string {
	t.Helper()
	var list []string
	add := func(info os.FileInfo, name string) {
		if info.ModTime().Unix() != 1795840941 {
			t.Errorf("%s has the time %s", name, info.ModTime())
		}
		list = append(list, info.Mode().String()+" "+name)
	}
	if filepath.Ext(name) == ".zip" {
		archive, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.File {
			add(f.FileInfo(), f.Name)
		}
	} else {
		plain, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		archive := tar.NewReader(plain)
		for {
			header, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			add(header.FileInfo(), header.Name)
		}
	}
	slices.Sort(list)
	return list
}
