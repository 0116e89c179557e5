package docs

import (
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"

	"tallyman/docs/codetest"
	"tallyman/internal/app"
	"tallyman/internal/config"
)

// TestDeployConfigurations: the program takes the configurations of the compose file and of the chart, with each set of values.
func TestDeployConfigurations(t *testing.T) {
	t.Parallel()
	for _, fault := range loadFaults(t, []byte(codetest.ReadFile(t, "../deploy/compose/tallyman.yaml"))) {
		t.Errorf("compose/tallyman.yaml: %s", fault)
	}
	sets, err := filepath.Glob("../deploy/helm/tallyman/ci/*.yaml")
	if err != nil || len(sets) < 3 {
		t.Fatalf("%v, %v", sets, err)
	}
	for _, set := range sets {
		for _, fault := range readValues(t, fenced{page: set, text: codetest.ReadFile(t, set)}) {
			t.Errorf("%s: %s", set, fault)
		}
	}
}

// readValues reads the configuration of the chart with these values over it. deploy/test holds the other values.
func readValues(t *testing.T, b fenced) []string {
	t.Helper()
	var chart, values struct{ Config map[string]any }
	if err := yaml.Unmarshal([]byte(codetest.ReadFile(t, "../deploy/helm/tallyman/values.yaml")), &chart); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(b.text), &values); err != nil {
		return []string{err.Error()}
	}
	layOver(chart.Config, values.Config)
	chart.Config["types"] = map[string]any{"path": "types.yaml"}
	text, err := yaml.Marshal(chart.Config)
	if err != nil {
		t.Fatal(err)
	}
	return loadFaults(t, text)
}

// layOver sets what over has, at any depth, as Helm does with values.
func layOver(under, over map[string]any) {
	for name, value := range over {
		section, both := value.(map[string]any)
		below, ok := under[name].(map[string]any)
		if both && ok {
			layOver(below, section)
			continue
		}
		under[name] = value
	}
}

// loadFaults is what the program says against a configuration.
func loadFaults(t *testing.T, text []byte) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tallyman.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := app.LoadConfig(config.Options{File: file, Env: variables, Lazy: true}); err != nil {
		return []string{err.Error()}
	}
	return nil
}
