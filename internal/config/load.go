package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/v2"

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
	l := &layers{file: file, over: map[string]string{}}
	d := &decoder{layers: l, dir: filepath.Dir(abs), env: environment(o.Env), problems: l.faults(), failed: map[string]bool{}, hidden: secretLines(file.Root), lazy: o.Lazy}
	merged, err := l.merge(o)
	if err != nil {
		return nil, err
	}
	c := Default()
	c.File = abs
	d.config(&c, merged)
	if len(d.problems) > 0 {
		return nil, d.sorted()
	}
	c.open = d.open
	return &c, nil
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

// layers knows where each value came from.
type layers struct {
	file *strictyaml.File
	over map[string]string // path → the variable or flag that set it
}

// merge lays environment and flags over the file.
func (l *layers) merge(o Options) (map[string]any, error) {
	k := koanf.New(separator)
	root, _ := plain(l.file.Root).(map[string]any)
	flags := make(map[string]any, len(o.Set))
	for key, value := range o.Set {
		at := strings.ReplaceAll(key, ".", separator)
		flags[at] = overlay(value)
	}
	variables := env.Provider(separator, env.Opt{
		Prefix:      envPrefix,
		EnvironFunc: func() []string { return o.Env },
		TransformFunc: func(name, value string) (string, any) {
			at := l.pathOf(name)
			if at == "" {
				return "", nil
			}
			l.over[at] = name
			return at, overlay(value)
		},
	})
	for _, p := range []koanf.Provider{confmap.Provider(root, ""), variables, confmap.Provider(flags, separator)} {
		if err := k.Load(p, nil); err != nil {
			return nil, fmt.Errorf("merge the configuration: %w", err)
		}
	}
	for key := range o.Set {
		flag := o.Flags[key]
		if flag == "" {
			flag = "--set " + key
		}
		l.over[strings.ReplaceAll(key, ".", separator)] = flag
	}
	return k.Raw(), nil
}

// overlay is a value from outside the file: always a text, taken as it is.
type overlay string

const (
	envPrefix = "TALLYMAN_"
	separator = "/" // of a path; no name may hold it
)

// pathOf maps TALLYMAN_REDIS__URL to redis/url, or to "" where the variable is not a setting: without a double
// underscore it is something else, such as TALLYMAN_SERVER or what an orchestrator sets for a service of this name.
// Variables have no case and no dashes, so a name that the file has is found whatever its spelling.
func (l *layers) pathOf(name string) string {
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

// plain turns the tree into maps, lists and values. Numbers and the like stay what the file says they are.
func plain(n *strictyaml.Node) any {
	return n.Tree(func(leaf *strictyaml.Node) any { return scalar{Tag: leaf.Tag, Text: leaf.Text} })
}

// scalar is a value of the file. Its fields are exported because the merge copies what it can see.
type scalar struct{ Tag, Text string }

// faults is what was wrong when the tree was built: names set twice, unknown tags.
func (l *layers) faults() problem.List { return l.file.Decode(l.file.Root, &faultFinder{}) }

// faultFinder decodes nothing: it walks.
type faultFinder struct{}

// DecodeYAML reports the faults of the node and of those below it.
func (f *faultFinder) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	d.Faults(n)
	for _, field := range n.Fields {
		f.DecodeYAML(d, name, field.Value)
	}
	for _, item := range n.Items {
		f.DecodeYAML(d, name, item)
	}
}
