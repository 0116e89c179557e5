package testenv

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// redisGlobals are the names that Redis gives to every script.
var redisGlobals = []string{
	"KEYS", "ARGV", "redis", "cjson", "string", "table", "math", "tonumber", "tostring", "type", "pairs", "ipairs", "next", "unpack", "select", "assert",
	"error", "pcall",
}

// topLocals finds what a script file declares for those that are put behind it.
var topLocals = regexp.MustCompile(`(?m)^local (?:function )?([\w, ]+)`)

// CheckScripts fails the test where a Lua file of the folder sets a global name, which Redis refuses when the line runs, or reads one that neither
// Redis nor a file of the folder declares. It sees the lines that no other test runs, too.
func CheckScripts(t *testing.T, folder string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.lua"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in %s: %v", folder, err)
	}
	known := slices.Clone(redisGlobals)
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
		for _, found := range topLocals.FindAllStringSubmatch(texts[file], -1) {
			for name := range strings.SplitSeq(found[1], ",") {
				known = append(known, strings.TrimSpace(name))
			}
		}
	}
	for file, text := range texts {
		statements, err := parse.Parse(strings.NewReader(text), file)
		if err != nil {
			t.Error(err)
			continue
		}
		compiled, err := lua.Compile(statements, file)
		if err != nil {
			t.Error(err)
			continue
		}
		set, read := globalsOf(compiled)
		for name := range set {
			t.Errorf("%s sets the global name %s: make it local", file, name)
		}
		for name := range read {
			if !slices.Contains(known, name) {
				t.Errorf("%s reads the global name %s, which nothing declares", file, name)
			}
		}
	}
}

// globalsOf lists the global names that a function and those within it set and read.
func globalsOf(f *lua.FunctionProto) (set, read map[string]bool) {
	set, read = map[string]bool{}, map[string]bool{}
	for _, instruction := range f.Code {
		name := func() string { return f.Constants[instruction&0x3ffff].String() }
		switch int(instruction >> 26) {
		case lua.OP_SETGLOBAL:
			set[name()] = true
		case lua.OP_GETGLOBAL:
			read[name()] = true
		}
	}
	for _, inner := range f.FunctionPrototypes {
		innerSet, innerRead := globalsOf(inner)
		for name := range innerSet {
			set[name] = true
		}
		for name := range innerRead {
			read[name] = true
		}
	}
	return set, read
}
