package testenv

import (
	"context"
	"encoding"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// ScriptCost is the cost of one call of a script in Redis. Redis serves nothing else during the call.
type ScriptCost struct {
	Keys     int           // The keys that the call declares.
	Sent     int           // The bytes of the keys and arguments.
	Answered int           // The bytes of the answer.
	Commands int           // The commands that the script runs. 0 means they are not counted.
	Inside   int           // The bytes of its commands' arguments and replies. 0 means they are not counted.
	Took     time.Duration // The time until the answer, with the network. It has no bound.
}

// exceeds lists the costs that are higher than most allows. The text is empty if no cost is higher.
func (c ScriptCost) exceeds(most ScriptCost) string {
	var out []string
	for _, one := range []struct {
		what      string
		has, most int
	}{
		{"keys", c.Keys, most.Keys},
		{"bytes sent", c.Sent, most.Sent},
		{"bytes answered", c.Answered, most.Answered},
		{"commands", c.Commands, most.Commands},
		{"bytes read and written inside", c.Inside, most.Inside},
	} {
		if one.has > one.most {
			out = append(out, fmt.Sprintf("%d %s, %d are the most", one.has, one.what, one.most))
		}
	}
	return strings.Join(out, "; ")
}

func (c ScriptCost) max(other ScriptCost) ScriptCost {
	return ScriptCost{
		max(c.Keys, other.Keys), max(c.Sent, other.Sent), max(c.Answered, other.Answered), max(c.Commands, other.Commands),
		max(c.Inside, other.Inside), max(c.Took, other.Took),
	}
}

// ScriptWatch measures every script call of a client, and fails the test where a call costs more than it may.
type ScriptWatch struct {
	t     testing.TB
	admin *redis.Client
	most  ScriptCost
	names map[string]string

	mu      sync.Mutex // Also lets only one call run at a time, so that its commands can be counted.
	largest map[string]ScriptCost
	calls   map[string]int
	shimmed map[string]string // The hash of a script with the shim, keyed by the hash of the plain script.
}

// The shim counts the bytes of the arguments and replies of a script's commands, because the server does not count
// them. It does not change the script's answer.
const (
	insideKey  = "testenv:inside" // The key in which the shim stores the count.
	shimBefore = `local server, inside = redis, 0
local function count(value)
  if type(value) == 'table' then
    for _, one in ipairs(value) do count(one) end
  else
    inside = inside + #tostring(value)
  end
end
local redis = setmetatable({ call = function(...)
  for _, argument in ipairs({ ... }) do count(argument) end
  local reply = server.call(...)
  count(reply)
  return reply
end }, { __index = server })
local function script()
`
	shimBehind = `
end
local answer = script()
server.call('SET', '` + insideKey + `', inside)
return answer
`
)

// WatchScripts begins to measure the client's script calls. names has the names of the scripts, keyed by hash. admin is
// a client of the same server, or nil. With admin, WatchScripts counts the commands of each script by the server's
// statistics. Then no other client may send more than a few commands a second. With admin and a bound on the bytes
// inside, the scripts run with a shim that counts these bytes. Then the server must not be a cluster.
func WatchScripts(t testing.TB, client redis.UniversalClient, admin *redis.Client, most ScriptCost, names map[string]string) *ScriptWatch {
	t.Helper()
	w := &ScriptWatch{
		t: t, admin: admin, most: most, names: names, largest: map[string]ScriptCost{}, calls: map[string]int{}, shimmed: map[string]string{},
	}
	client.AddHook(w)
	return w
}

// Largest returns the largest cost of any call so far, keyed by the name of the script.
func (w *ScriptWatch) Largest() map[string]ScriptCost {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.largest)
}

// Log writes the largest costs of each script to the test's log.
func (w *ScriptWatch) Log() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(w.largest)) {
		c := w.largest[name]
		w.t.Logf("%-9s %5d calls, at most %4d keys, %7d bytes sent, %7d answered, %5d commands, %8d bytes inside, %s",
			name, w.calls[name], c.Keys, c.Sent, c.Answered, c.Commands, c.Inside, c.Took.Round(100*time.Microsecond))
	}
}

// DialHook implements redis.Hook.
func (w *ScriptWatch) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (w *ScriptWatch) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !isScript(cmd) {
			return next(ctx, cmd)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		before, began := w.commands(ctx), time.Now()
		err := w.call(ctx, cmd, next)
		took := time.Since(began)
		w.add(cmd, ScriptCost{Commands: w.commands(ctx) - before, Inside: w.inside(ctx), Took: took})
		return err
	}
}

// call makes a call of a script, with the shim where bytes inside are bounded.
func (w *ScriptWatch) call(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	if w.admin == nil || w.most.Inside == 0 {
		return next(ctx, cmd)
	}
	args := cmd.Args() // The client sends this very slice, so a change of it takes effect.
	plain := args[1]
	defer func() { args[1] = plain }()
	name := fmt.Sprint(plain)
	if strings.HasPrefix(cmd.Name(), "evalsha") {
		// Without a hash the server does not know the script yet, and the client sends the text of the script next.
		if hash, ok := w.shimmed[name]; ok {
			args[1] = hash
		}
	} else {
		text := shimBefore + name + shimBehind
		w.shimmed[redis.NewScript(name).Hash()], args[1] = redis.NewScript(text).Hash(), text
	}
	return next(ctx, cmd)
}

// inside returns how many bytes the commands of the last script call have read and written.
func (w *ScriptWatch) inside(ctx context.Context) int {
	if w.admin == nil || w.most.Inside == 0 {
		return 0
	}
	n, err := w.admin.GetDel(ctx, insideKey).Int()
	if err != nil && !errors.Is(err, redis.Nil) { // A script that the server does not know leaves no count.
		w.t.Error(err)
	}
	return n
}

// ProcessPipelineHook implements redis.Hook. Commands of scripts in a pipeline are not counted.
func (w *ScriptWatch) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		// During a call that holds the lock, a new connection may send a pipeline without scripts. It must not wait for
		// the lock.
		if !slices.ContainsFunc(cmds, isScript) {
			return err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, cmd := range cmds {
			if isScript(cmd) {
				w.add(cmd, ScriptCost{})
			}
		}
		return err
	}
}

func isScript(cmd redis.Cmder) bool {
	switch cmd.Name() {
	case "eval", "evalsha", "eval_ro", "evalsha_ro", "fcall", "fcall_ro":
		return true
	}
	return false
}

// add records a call and its cost. The caller holds the lock.
func (w *ScriptWatch) add(cmd redis.Cmder, cost ScriptCost) {
	args := cmd.Args()
	name := fmt.Sprint(args[1])
	if strings.Contains(name, "\n") { // The text of a script, which the server did not know yet.
		name = redis.NewScript(name).Hash()
	}
	if known, ok := w.names[name]; ok {
		name = known
	}
	keys, err := strconv.Atoi(fmt.Sprint(args[2]))
	if err != nil {
		w.t.Errorf("script %s: %v", name, err)
		return
	}
	cost.Keys = keys
	for _, arg := range args[3:] {
		switch arg := arg.(type) {
		case string:
			cost.Sent += len(arg)
		case *string:
			cost.Sent += len(*arg)
		case []byte:
			cost.Sent += len(arg)
		case encoding.BinaryMarshaler:
			text, err := arg.MarshalBinary()
			if err != nil {
				w.t.Errorf("script %s: %v", name, err)
			}
			cost.Sent += len(text)
		default:
			cost.Sent += len(fmt.Sprint(arg))
		}
	}
	if c, ok := cmd.(*redis.Cmd); ok && cmd.Err() == nil {
		cost.Answered = sizeOf(c.Val())
	}
	if what := cost.exceeds(w.most); what != "" {
		w.t.Errorf("one call of %s: %s", name, what)
	}
	w.largest[name] = w.largest[name].max(cost)
	w.calls[name]++
}

// sizeOf returns about how many bytes an answer has.
func sizeOf(v any) int {
	switch v := v.(type) {
	case []any:
		n := 0
		for _, one := range v {
			n += sizeOf(one)
		}
		return n
	case string:
		return len(v)
	default:
		return 8
	}
}

// commands returns how many commands the server has run, including the commands of scripts.
func (w *ScriptWatch) commands(ctx context.Context) int {
	if w.admin == nil {
		return 0
	}
	info, err := w.admin.Info(ctx, "commandstats").Result()
	if err != nil {
		w.t.Error(err)
		return 0
	}
	total := 0
	for line := range strings.Lines(info) {
		_, stats, ok := strings.Cut(line, ":calls=")
		if !ok {
			continue
		}
		text, _, _ := strings.Cut(stats, ",")
		n, err := strconv.Atoi(text)
		if err != nil {
			w.t.Error(err)
		}
		total += n
	}
	return total
}

// redisGlobals are the global names that Redis defines for every script.
var redisGlobals = []string{
	"KEYS", "ARGV", "redis", "cjson", "string", "table", "math", "tonumber", "tostring", "type", "pairs", "ipairs", "next", "unpack", "select", "assert",
	"error", "pcall",
}

// topLocals matches the local names that a script file declares at its top level. Files that are appended to this file
// can read the names.
var topLocals = regexp.MustCompile(`(?m)^local (?:function )?([\w, ]+)`)

// CheckScripts fails the test where a Lua file of the folder sets a global name, or reads a global name that neither
// Redis nor a file of the folder declares. Redis itself refuses such a line only when the line runs. CheckScripts sees
// every line.
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

// globalsOf lists the global names that a function, and the functions within it, set and read.
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
