package rules_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"tallyman/rules"
)

const shippedSchema = "../configs/rule.schema.json"

// editorSchema is the shipped schema as an editor's validator reads it.
func editorSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(readFile(t, shippedSchema)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("rule.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("rule.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// editorValue is the file as an editor's YAML parser reads it; ok is false where it is no YAML.
func editorValue(t *testing.T, path string) (value any, ok bool) {
	t.Helper()
	var doc any
	if err := yaml.Unmarshal([]byte(readFile(t, path)), &doc); err != nil {
		return nil, false
	}
	return withoutTimes(doc), true
}

// withoutTimes makes texts of dates, which are texts in YAML 1.2.
func withoutTimes(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			v[name] = withoutTimes(value)
		}
	case []any:
		for i, value := range v {
			v[i] = withoutTimes(value)
		}
	}
	if reflect.TypeOf(v) != nil && reflect.TypeOf(v).String() == "time.Time" {
		return "a date"
	}
	return v
}

func TestShippedSchemaIsThatOfTheTypes(t *testing.T) {
	got, err := rules.Schema()
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != readFile(t, shippedSchema) {
		t.Errorf("%s is not what `tallyman rules schema` prints: run make generate", shippedSchema)
	}
}

func TestSchemaTakesGoodFiles(t *testing.T) {
	schema := editorSchema(t)
	files, _ := filepath.Glob("testdata/good/*.yaml")
	shipped, _ := filepath.Glob("../configs/rules/*.yaml")
	examples, _ := filepath.Glob("../examples/*/rules/*.yaml")
	files = slices.Concat(files, shipped, examples)
	if len(files) < 30 {
		t.Fatalf("only %d files", len(files))
	}
	for _, path := range files {
		value, ok := editorValue(t, path)
		if !ok {
			t.Errorf("%s is no YAML", path)
			continue
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// The schema must refuse some problems, and may refuse others. It must accept files whose only problems it cannot know.
var (
	shapeCodes    = []string{"unknown_field", "wrong_type", "unknown_value"}
	spellingCodes = []string{"bad_duration", "out_of_range", "missing_field", "bad_id", "bad_name", "not_overridable", "alias_loop", "yaml_syntax", "duplicate_field"}
)

func TestSchemaRefusesBadShapes(t *testing.T) {
	schema := editorSchema(t)
	files, _ := filepath.Glob("testdata/bad/*.yaml")
	code := regexp.MustCompile(`^(?:\d+:\d+ )?(\w+)`)
	refused := 0
	for _, path := range files {
		var shape, spelling bool
		for _, want := range header(readFile(t, path), "want ") {
			c := code.FindStringSubmatch(want)[1]
			shape = shape || slices.Contains(shapeCodes, c)
			spelling = spelling || slices.Contains(spellingCodes, c)
		}
		value, ok := editorValue(t, path)
		if !ok {
			continue // the editor's parser says so
		}
		err := schema.Validate(value)
		switch {
		case shape && err == nil && filepath.Base(path) != "param-octal.yaml": // to an editor 010 is a number like any other
			t.Errorf("%s has a wrong shape, and passes", path)
		case !shape && !spelling && err != nil:
			t.Errorf("%s has the right shape, and is refused: %v", path, err)
		}
		if err != nil {
			refused++
		}
	}
	if refused < 20 {
		t.Errorf("only %d of %d files are refused", refused, len(files))
	}
}

// An editor shows what each field is.
func TestSchemaDescribesEveryField(t *testing.T) {
	field := regexp.MustCompile(`"(\w+)": \{\n\s+"(type|enum|minimum)"`)
	for _, m := range field.FindAllStringSubmatch(readFile(t, shippedSchema), -1) {
		switch m[1] {
		case "items", "additionalProperties", "propertyNames", "properties", "rule":
		default:
			t.Errorf("%s has no description: give its field the tag doc", m[1])
		}
	}
}

// The first line of a rule file leads an editor to the schema.
func TestRuleFilesNameTheirSchema(t *testing.T) {
	first := regexp.MustCompile(`^# yaml-language-server: \$schema=(\S+)\n`)
	shipped, _ := filepath.Glob("../configs/rules/*.yaml")
	examples, _ := filepath.Glob("../examples/*/rules/*.yaml")
	want, err := filepath.Abs(shippedSchema)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(shipped, examples...) {
		m := first.FindStringSubmatch(readFile(t, path))
		if m == nil {
			t.Errorf("%s does not begin with # yaml-language-server: $schema=…", path)
			continue
		}
		got, err := filepath.Abs(filepath.Join(filepath.Dir(path), m[1]))
		if _, gone := os.Stat(got); err != nil || gone != nil || got != want {
			t.Errorf("%s: %s is not %s", path, m[1], shippedSchema)
		}
	}
}
