package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	web  = "../../../internal/console/web"
	dist = "../../../internal/console/dist"
)

// TestComplete: the bill of a binary gets the packages of the console and of the widget, and loses what differs from
// machine to machine. Done twice from the same bill, it is the same.
func TestComplete(t *testing.T) {
	t.Parallel()
	const made = `{"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": "urn:uuid:3e671687-395b-41f5-a30f-a58921a69b79", "version": 1,
		"metadata": {"timestamp": "2026-11-28T00:00:00Z", "component": {"bom-ref": "program", "type": "application", "name": "tallyman"},
			"tools": [{"vendor": "CycloneDX", "name": "cyclonedx-gomod", "hashes": [{"alg": "MD5", "content": "db79b0bd18b3c3506e50fc0c5ab9a104"}]}]},
		"components": [{"bom-ref": "lib", "type": "library", "name": "lib"}],
		"dependencies": [{"ref": "lib"}, {"ref": "program", "dependsOn": ["lib"]}]}`
	var bills [2]string
	for i := range bills {
		path := filepath.Join(t.TempDir(), "sbom.json")
		put(t, path, made)
		if err := run([]string{web, dist, path}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		bills[i] = string(text)
	}
	if bills[0] != bills[1] {
		t.Error("the same bill was completed in two ways")
	}
	for _, part := range []string{"urn:uuid", "timestamp", "db79b0bd"} {
		if strings.Contains(bills[0], part) {
			t.Errorf("the bill still has %q", part)
		}
	}
	for _, part := range []string{`"pkg:npm/svelte@`, `"pkg:npm/preact@`, `"pkg:npm/%40codemirror/view@`, `"SHA-512"`, `"id": "MIT"`, `"name": "lib"`} {
		if !strings.Contains(bills[0], part) {
			t.Errorf("the bill lacks %s", part)
		}
	}
	if strings.Contains(bills[0], "pkg:npm/vite@") {
		t.Error("the bill has Vite, which only builds the console")
	}
	if _, depends, _ := strings.Cut(bills[0], `"dependencies"`); !strings.Contains(depends, "pkg:npm/preact@") {
		t.Error("the program does not depend on the packages")
	}
}

// TestRefused: a package that the lock file does not have, or has in another version, is no part of a release.
func TestRefused(t *testing.T) {
	t.Parallel()
	const lock = `{"packages": {"node_modules/one": {"version": "1.0.0", "integrity": "sha512-AAAA", "license": "MIT"}}}`
	for name, c := range map[string]struct{ licenses, widget, want string }{
		"other version": {"## one - 2.0.0 (MIT)\n", "/*! Contains one, MIT. */", "one 2.0.0 is built into the console"},
		"not locked":    {"## one - 1.0.0 (MIT)\n", "/*! Contains two, MIT. */", "two  is built into the console"},
		"no banner":     {"## one - 1.0.0 (MIT)\n", "code()", "the banner of widget.js names no package"},
		"no licenses":   {"", "/*! Contains one, MIT. */", "licenses.md names no package"},
		"no sum":        {"## one - 1.0.0 (MIT)\n", "/*! Contains one, MIT. */", "one: its integrity"},
	} {
		folder := t.TempDir()
		put(t, filepath.Join(folder, "package-lock.json"), lock)
		put(t, filepath.Join(folder, "licenses.md"), c.licenses)
		put(t, filepath.Join(folder, "widget.js"), c.widget)
		if _, err := bundled(folder, folder); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
