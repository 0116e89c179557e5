package config

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/v2"

	"tallyman/internal/settings"
	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

// DefaultFile is the default path of the configuration, relative to the working directory.
const DefaultFile = "configs/tallyman.yaml"

// Options says what to load.
type Options struct {
	File string            // Empty means DefaultFile.
	Env  []string          // NAME=value, as os.Environ returns them.
	Set  map[string]string // The values that flags set, keyed by setting, such as redis.url.
	// Flags names the flag that set a key, where the flag is not --set.
	Flags map[string]string
	// Types are the types of sinks and the drivers that a configuration may name.
	Types Types
	// Lazy accepts secrets whose variable is not set or whose file cannot be read. They stay open: call Config.Need
	// before you use a part of such a configuration.
	Lazy bool
}

// Load reads, merges and checks a configuration. The error is a problem.List where the configuration has problems. Any
// other error says that the file could not be read.
func Load(o Options) (*Config, error) {
	if o.File == "" {
		o.File = DefaultFile
	}
	src, err := os.ReadFile(o.File)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	abs, err := filepath.Abs(o.File)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	return parse(abs, src, o)
}

// parse is Load for a file that was read already. abs is its absolute path.
func parse(abs string, src []byte, o Options) (*Config, error) {
	file, problems := strictyaml.Parse(o.File, src)
	if len(problems) > 0 {
		return nil, withoutSecrets(problems)
	}
	if file.Root.Kind != strictyaml.Mapping {
		return nil, problem.List{file.Problem(file.Root, strictyaml.CodeType, "a configuration is a map of sections", "for example http: {listen: …}")}
	}
	l := &loader{file: file, types: o.Types, dir: filepath.Dir(abs), env: environment(o.Env), lazy: o.Lazy}
	merged, err := l.merge(o)
	if err != nil {
		return nil, err
	}
	c := Default(o.Types)
	c.File = abs
	if problems := file.DecodeSettings(file.Overlay(merged, l.place), &c, l); len(problems) > 0 {
		return nil, l.sorted(problems)
	}
	c.open, c.places = l.open, l
	return &c, nil
}

// Problem returns a problem that is found after the load, at a path such as sinks.sms.url or subscriptions[1].type. A
// value of the environment or of a flag has no line in the file; its problem is placed at the section. The problem
// shows no line with a secret.
func (c *Config) Problem(path, code, message, hint string) problem.Problem {
	if c.places == nil { // A program made the configuration, without a file.
		return problem.Problem{File: c.File, Code: code, Message: message, Hint: hint}
	}
	file := c.places.file
	n, last := file.Root.Walk(path)
	return c.places.sorted(problem.List{file.Problem(cmp.Or(n, last), code, message, hint)})[0]
}

// environment converts NAME=value entries to a map.
func environment(entries []string) map[string]string {
	m := make(map[string]string, len(entries))
	for _, e := range entries {
		if name, value, ok := strings.Cut(e, "="); ok {
			m[name] = value
		}
	}
	return m
}

// loader is one load of a configuration. It knows where each value came from, and resolves references and paths.
type loader struct {
	file   *strictyaml.File
	values []*strictyaml.Node // The values of the file. The merged layers refer to them by index.

	types Types
	dir   string // The folder that paths are relative to.
	env   map[string]string
	lazy  bool // See Options.Lazy.
	open  openValues
}

func loadOf(at settings.Section) *loader {
	l, _ := at.Reader().(*loader)
	return l
}

// merge merges the layers: flags override the environment, which overrides the file.
func (l *loader) merge(o Options) (map[string]any, error) {
	k := koanf.New(separator)
	flags := make(map[string]any, len(o.Set))
	for key, value := range o.Set {
		at := strings.ReplaceAll(key, ".", separator)
		flags[at] = overlay{value, flagName(o, key)}
	}
	variables := env.Provider(separator, env.Opt{
		Prefix:      envPrefix,
		EnvironFunc: func() []string { return o.Env },
		TransformFunc: func(name, value string) (string, any) {
			at := l.pathOf(name)
			if at == "" {
				return "", nil
			}
			return at, overlay{value, name}
		},
	})
	for _, p := range []koanf.Provider{confmap.Provider(l.numbered(l.file.Root), ""), variables, confmap.Provider(flags, separator)} {
		if err := k.Load(p, nil); err != nil {
			return nil, fmt.Errorf("merge the configuration: %w", err)
		}
	}
	return k.Raw(), nil
}

// flagName returns the flag that set a key.
func flagName(o Options, key string) string {
	if flag := o.Flags[key]; flag != "" {
		return flag
	}
	return "--set " + key
}

// overlay is a value from the environment or a flag. It is always a text, taken as it is. Its fields are exported
// because the merge copies only exported fields.
type overlay struct{ Text, Origin string }

// numbered converts the file's tree to maps, with an index into l.values in place of each value that is not a map. The
// merge copies the maps; the indices lead back to the places in the file.
func (l *loader) numbered(n *strictyaml.Node) map[string]any {
	m := make(map[string]any, len(n.Fields))
	for _, f := range n.Fields {
		if f.Value.Kind == strictyaml.Mapping {
			m[f.Name] = l.numbered(f.Value)
			continue
		}
		m[f.Name] = len(l.values)
		l.values = append(l.values, f.Value)
	}
	return m
}

// place returns where a value of the merged layers came from.
func (l *loader) place(leaf any) (n *strictyaml.Node, text, origin string) {
	switch x := leaf.(type) {
	case int:
		return l.values[x], "", ""
	case overlay:
		return nil, x.Text, x.Origin
	}
	return nil, "", ""
}

const (
	envPrefix = "TALLYMAN_"
	separator = "/" // Separates the parts of a path. No name may contain it.
)

// Variable names the environment variable that sets a key: TALLYMAN_REDIS__URL sets redis.url.
func Variable(key string) string {
	return envPrefix + strings.ToUpper(strings.NewReplacer(".", "__", "-", "_").Replace(key))
}

// pathOf maps the name of an environment variable to a path: TALLYMAN_REDIS__URL to redis/url. For a variable that is
// not a setting it returns "". Such a variable has no double underscore. Examples are TALLYMAN_SERVER, and the
// variables that an orchestrator sets for a service named tallyman. pathOf ignores case, and takes - and . as _, when
// it looks for a name in the file.
func (l *loader) pathOf(name string) string {
	rest := strings.TrimPrefix(name, envPrefix)
	if !strings.Contains(rest, "__") {
		return ""
	}
	n := l.file.Root
	segments := strings.Split(rest, "__")
	for i, s := range segments {
		s = strings.ToLower(s)
		var next *strictyaml.Node
		if n != nil {
			for _, f := range n.Fields {
				if strings.EqualFold(strings.NewReplacer("-", "_", ".", "_").Replace(f.Name), s) {
					s, next = f.Name, f.Value
					break
				}
			}
		}
		segments[i], n = s, next
	}
	return strings.Join(segments, separator)
}
