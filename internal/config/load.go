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

// DefaultFile is the configuration that is read where no other is named, relative to the working directory.
const DefaultFile = "configs/tallyman.yaml"

// Options says what to load.
type Options struct {
	File string            // "" = DefaultFile
	Env  []string          // NAME=value, as os.Environ returns them
	Set  map[string]string // by flags: a key such as redis.url → its value
	// Flags names the flag that set a key, where it is another than --set.
	Flags map[string]string
	// Types are the types of sinks and the drivers that a configuration may name.
	Types Types
	// Lazy leaves addresses open whose variable is not set or whose file cannot be read: those who use one ask for it
	// with Config.Need.
	Lazy bool
}

// Load reads, merges and checks a configuration. What is wrong with it is a problem.List; any other error says
// that the file could not be read.
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

// parse is Load of a file that has been read; abs is its path.
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

// Problem is one that is found with the configuration later on, at a path such as sinks.sms.url or subscriptions[1].type; what the environment or a flag
// has set is told at the section. Lines with secrets are not shown.
func (c *Config) Problem(path, code, message, hint string) problem.Problem {
	if c.places == nil { // made by a program
		return problem.Problem{File: c.File, Code: code, Message: message, Hint: hint}
	}
	file := c.places.file
	n, last := file.Root.Walk(path)
	return c.places.sorted(problem.List{file.Problem(cmp.Or(n, last), code, message, hint)})[0]
}

// environment makes NAME=value entries a map.
func environment(entries []string) map[string]string {
	m := make(map[string]string, len(entries))
	for _, e := range entries {
		if name, value, ok := strings.Cut(e, "="); ok {
			m[name] = value
		}
	}
	return m
}

// loader is one load. It knows where each value came from, and finds what texts stand for.
type loader struct {
	file   *strictyaml.File
	values []*strictyaml.Node // of the file, as the merged layers number them

	types Types
	dir   string // what paths are relative to
	env   map[string]string
	lazy  bool // see Options
	open  openValues
}

func loadOf(at settings.Section) *loader {
	l, _ := at.Reader().(*loader)
	return l
}

// merge lays environment and flags over the file.
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

// flagName names the flag that set a key.
func flagName(o Options, key string) string {
	if flag := o.Flags[key]; flag != "" {
		return flag
	}
	return "--set " + key
}

// overlay is a value from outside the file: always a text, taken as it is. Its fields are exported because the merge copies what it can see.
type overlay struct{ Text, Origin string }

// numbered makes maps of the file's tree, and of every other value its number: the merge copies the maps, and numbers lead back to the places.
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

// place says where a value of the merged layers came from.
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
	separator = "/" // of a path; no name may hold it
)

// Variable names the environment variable that sets a key: TALLYMAN_REDIS__URL sets redis.url.
func Variable(key string) string {
	return envPrefix + strings.ToUpper(strings.NewReplacer(".", "__", "-", "_").Replace(key))
}

// pathOf maps TALLYMAN_REDIS__URL to redis/url, or to "" where the variable is not a setting: without a double
// underscore it is something else, such as TALLYMAN_SERVER or what an orchestrator sets for a service of this name.
// Variables have no case and no dashes, so a name that the file has is found whatever its spelling.
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
