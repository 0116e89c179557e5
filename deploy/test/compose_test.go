package test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// loadCompose reads the compose file as docker compose does, against the schema of Compose.
func loadCompose(t *testing.T, env types.Mapping) (*types.Project, error) {
	t.Helper()
	return loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: "..", ConfigFiles: []types.ConfigFile{{Filename: "../compose.yaml"}}, Environment: env,
	}, func(o *loader.Options) {
		o.SetProjectName("tallyman", true)
		o.Profiles = []string{"watch"}
	})
}

// TestCompose: Compose accepts the file. Each service is bound, watched and started again, and each mounted file is there.
func TestCompose(t *testing.T) {
	t.Parallel()
	project, err := loadCompose(t, types.Mapping{"LEDGER_PASSWORD": "a", "REDIS_PASSWORD": "b", "GRAFANA_PASSWORD": "c", "PROMETHEUS_TOKEN": "d"})
	if err != nil {
		t.Fatal(err)
	}
	if len(project.Services) != 6 {
		t.Errorf("%d services", len(project.Services))
	}
	tagged := regexp.MustCompile(`:[v0-9][-.a-z0-9]*$`)
	for name, s := range project.Services {
		if !tagged.MatchString(s.Image) {
			t.Errorf("%s: image %s has no version", name, s.Image)
		}
		once := name == "migrate"
		if (s.Restart == "unless-stopped") == once {
			t.Errorf("%s: restart is %q", name, s.Restart)
		}
		if s.HealthCheck == nil && name != "tallyman" { // the image has it
			t.Errorf("%s has no health check", name)
		}
		if strings.HasPrefix(s.Image, "tallyman:") && (!s.ReadOnly || len(s.CapDrop) == 0 || s.PullPolicy != types.PullPolicyNever) {
			t.Errorf("%s may too much", name)
		}
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %s is open to the network", name, p.Published)
			}
		}
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind {
				if _, err := os.Stat(v.Source); err != nil || !v.ReadOnly {
					t.Errorf("%s: %s: %v, read-only %t", name, v.Source, err, v.ReadOnly)
				}
			} else if _, ok := project.Volumes[v.Source]; !ok {
				t.Errorf("%s: the volume %s is not declared", name, v.Source)
			}
		}
	}
}

// TestComposeSecrets: without a password nothing starts, and the example has each variable of the file.
func TestComposeSecrets(t *testing.T) {
	t.Parallel()
	if _, err := loadCompose(t, types.Mapping{"LEDGER_PASSWORD": "a"}); err == nil || !strings.Contains(err.Error(), "REDIS_PASSWORD") {
		t.Errorf("without a password of Redis: %v", err)
	}
	example, err := os.ReadFile("../compose/example.env")
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("../compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"PROMETHEUS_TOKEN"}
	for _, m := range regexp.MustCompile(`[^$]\$\{([A-Z_]+)`).FindAllStringSubmatch(string(file), -1) {
		names = append(names, m[1])
	}
	for _, name := range names {
		if !regexp.MustCompile(`(?m)^#?` + name + `=`).Match(example) {
			t.Errorf("example.env does not have %s", name)
		}
	}
	if values, err := dotenv.Parse(strings.NewReader(string(example))); err != nil || values["LEDGER_PASSWORD"] != "" {
		t.Errorf("example.env: %v, %v", values, err)
	}
}
