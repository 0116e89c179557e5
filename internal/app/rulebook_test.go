package app

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/rules"
)

// fileOf is a file with rules of those ids; one that ends in ! is bad.
func fileOf(ids ...string) string {
	text := "version: 1\nrules:\n"
	for _, id := range ids {
		name, bad := strings.CutSuffix(id, "!")
		text += "  - id: " + name + "\n    source: wms\n    schedule: {cron: \"@hourly\"}\n    probe: {sql: SELECT a FROM b}\n    key: [a]\n" +
			"    notice: {type: REP_NOTICE, warehouse: a, title: " + name + "}\n    deliver: [{sink: inbox}]\n"
		if bad {
			text += "    hwen: a\n"
		}
	}
	return text
}

// What is in force after files have changed, some of them for the worse, as "id file", with a * where it is the last
// good version.
func TestGoodRulesAreKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		before, after map[string]string
		want          string
	}{
		{
			"one bad file among good ones",
			map[string]string{"a": fileOf("x", "y"), "b": fileOf("z")},
			map[string]string{"a": fileOf("x!", "y"), "b": fileOf("v")},
			"v b, x a*, y a*",
		},
		{
			"a rule moves between good files",
			map[string]string{"a": fileOf("x", "y"), "b": fileOf("z")},
			map[string]string{"a": fileOf("y"), "b": fileOf("z", "x")},
			"x b, y a, z b",
		},
		{
			"out of a bad file",
			map[string]string{"a": fileOf("x", "y"), "b": fileOf("z")},
			map[string]string{"a": fileOf("y!"), "b": fileOf("z", "x")},
			"x b, y a*, z b",
		},
		{
			"into a bad file, sound",
			map[string]string{"a": fileOf("x", "y"), "b": fileOf("z")},
			map[string]string{"a": fileOf("y"), "b": fileOf("z!", "x")},
			"x a*, y a, z b*",
		},
		{
			"into a bad file, as what is bad there",
			map[string]string{"a": fileOf("x", "y")},
			map[string]string{"a": fileOf("y"), "b": fileOf("x!")},
			"x a*, y a",
		},
		{
			"of two of one id the first file has it",
			map[string]string{"b": fileOf("x", "y")},
			map[string]string{"a": fileOf("x"), "b": fileOf("x", "y")},
			"x a, y b*",
		},
		{
			"removed, while another file is bad",
			map[string]string{"a": fileOf("x"), "b": fileOf("y")},
			map[string]string{"b": fileOf("y!")},
			"y b*",
		},
		{
			"a new file that is bad in part",
			map[string]string{"a": fileOf("x")},
			map[string]string{"a": fileOf("x"), "b": fileOf("y", "z!")},
			"x a, y b*",
		},
		{
			"half a file",
			map[string]string{"a": fileOf("x", "y")},
			map[string]string{"a": fileOf("x", "y")[:240]},
			"x a*, y a*",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			f.remove("rules/stock.yaml")
			load := func(files map[string]string) *rules.Set {
				for name, text := range files {
					f.write("rules/"+name+".yaml", text)
				}
				return rules.Load([]string{f.at("rules")})
			}
			before := load(c.before)
			if !before.Complete() {
				t.Fatal(before.Problems)
			}
			for name := range maps.Keys(c.before) {
				f.remove("rules/" + name + ".yaml")
			}
			// A second reading of the same files changes nothing.
			once, _ := keepGood(before.Rules, load(c.after))
			list, stale := keepGood(once, load(c.after))
			var got []string
			for _, r := range list {
				name := r.ID + " " + strings.TrimSuffix(filepath.Base(r.File), ".yaml")
				if stale[r.ID] {
					name += "*"
				}
				got = append(got, name)
			}
			if want := strings.Split(c.want, ", "); !slices.Equal(got, want) {
				t.Errorf("in force: %v, want %v", got, want)
			}
		})
	}
}

func TestFilesAreReadAgainInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b ruleBook
		b.put(nil, nil, &expansion{set: &rules.Set{}}, nil, "1")
		b.readAgain(time.Now().Add(verifyAgain))
		for _, want := range []string{"1", "1", ""} {
			if got := b.fingerprint(); got != want {
				t.Errorf("it is %q, want %q", got, want)
			}
			<-time.After(verifyAgain / 2) // of the bubble's clock
		}
		b.put(nil, nil, &expansion{set: &rules.Set{}}, nil, "2")
		if got := b.fingerprint(); got != "2" {
			t.Errorf("after it %q", got)
		}
	})
}
