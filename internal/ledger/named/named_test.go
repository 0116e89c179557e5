package named

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestParse(t *testing.T) {
	t.Parallel()
	q, err := Parse(fstest.MapFS{
		"sql/a.sql": {Data: []byte("-- a file\n\n-- name: one\n-- Arguments: none; a lot.\nSELECT 1\nFROM t;\n\n-- name: two\nSELECT '-- name' AS x\n\n-- name: last\n-- reversed: first\nSELECT n FROM t ORDER BY n DESC;\n")},
		"sql/b.txt": {Data: []byte("-- name: three\nSELECT 3")},
		"c.sql":     {Data: []byte("-- name: four\nSELECT 4")},
	}, "sql")
	if err != nil {
		t.Fatal(err)
	}
	if len(q) != 4 || q.Get("last") != "SELECT n FROM t ORDER BY n DESC" || q.Get("first") != "SELECT n FROM t ORDER BY n" || q.Get("one") != "SELECT 1\nFROM t" || q.Get("two") != "SELECT '-- name' AS x" {
		t.Fatalf("%q", q)
	}
	defer func() {
		if recover() == nil {
			t.Error("a query that is not there was given out")
		}
	}()
	q.Get("three")
}

func TestParseFaults(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		"one is defined twice": "-- name: one\nSELECT 1;\n-- name: one\nSELECT 2;",
		"one is empty":         "-- name: one\n-- a comment\n",
	} {
		_, err := Parse(fstest.MapFS{"sql/a.sql": {Data: []byte(text)}}, "sql")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
