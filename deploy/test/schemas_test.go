package test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/yannh/kubeconform/pkg/validator"
	"sigs.k8s.io/yaml"
)

// kubernetes are the versions whose schemas the chart must fit: the oldest that Chart.yaml allows, and the newest that
// the module of schemas has.
var kubernetes = []string{"1.27", "1.30"}

// TestSchemasFindFaults: the schemas refuse what no Kubernetes takes.
func TestSchemasFindFaults(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {port: 1}\n":                                    "/spec",
		"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a}\nspec: {replicas: two}\n":                     "/spec/replicas",
		"apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\nspec: {minAvailable: {most: 1}}\n": "/spec/minAvailable",
	} {
		for _, version := range kubernetes {
			if err := fits(t, version, doc); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Kubernetes %s: %v, want %s\n%s", version, err, want, doc)
			}
		}
	}
}

// fits holds an object against the schema of its kind. Fields that the schema does not have are errors.
func fits(t *testing.T, version, doc string) error {
	t.Helper()
	schema, err := schemaOf(version, []byte(doc))
	if err != nil {
		return err
	}
	location := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(location, schema, 0o600); err != nil {
		return err
	}
	v, err := validator.New([]string{location}, validator.Opts{Strict: true})
	if err != nil {
		return err
	}
	for _, r := range v.Validate("object.yaml", io.NopCloser(strings.NewReader(doc))) {
		if r.Status != validator.Valid {
			err = errors.Join(err, r.Err)
		}
		for i := range r.ValidationErrors {
			err = errors.Join(err, errors.New(r.ValidationErrors[i].Path+": "+r.ValidationErrors[i].Msg))
		}
	}
	return err
}

// schemaOf makes a JSON schema of the OpenAPI document that Kubernetes publishes for the object's group.
func schemaOf(version string, doc []byte) ([]byte, error) {
	var object struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal(doc, &object); err != nil {
		return nil, err
	}
	folder, err := documents()
	if err != nil {
		return nil, err
	}
	group := "apis"
	if !strings.Contains(object.APIVersion, "/") {
		group = "api"
	}
	text, err := os.ReadFile(filepath.Join(folder, version, group, object.APIVersion+".json"))
	if err != nil {
		return nil, err
	}
	var openAPI struct {
		Components struct {
			Schemas map[string]map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &openAPI); err != nil {
		return nil, err
	}
	name, ending := "", "."+path.Base(object.APIVersion)+"."+object.Kind
	for full, schema := range openAPI.Components.Schemas {
		if _, open := schema["additionalProperties"]; !open && schema["properties"] != nil {
			schema["additionalProperties"] = false
		}
		if strings.HasPrefix(full, "io.k8s.api.") && strings.HasSuffix(full, ending) {
			name = full
		}
	}
	if name == "" {
		return nil, fmt.Errorf("Kubernetes %s has no %s in %s", version, object.Kind, object.APIVersion)
	}
	return json.Marshal(map[string]any{"allOf": []any{map[string]any{"$ref": "#/components/schemas/" + name}}, "components": openAPI.Components})
}

// documents is the folder with the OpenAPI documents of each version of Kubernetes, in the module of kubectl-validate.
var documents = sync.OnceValues(func() (string, error) {
	const module = "sigs.k8s.io/kubectl-validate"
	if err := exec.Command("go", "-C", "schemas", "mod", "download", module).Run(); err != nil {
		return "", err
	}
	folder, err := exec.Command("go", "-C", "schemas", "list", "-m", "-f", "{{.Dir}}", module).Output()
	return filepath.Join(strings.TrimSpace(string(folder)), "pkg", "openapiclient", "builtins"), err
})
