package metrics_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// alert is one of deploy/alerts/tallyman.yaml.
type alert struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func readAlerts(t *testing.T) []alert {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/alerts/tallyman.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []alert
		}
	}
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		t.Fatal(err)
	}
	var list []alert
	for _, g := range file.Groups {
		list = append(list, g.Rules...)
	}
	return list
}

// readDashboard returns the expressions of the panels by their titles.
func readDashboard(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/dashboards/tallyman.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Title  string
		Panels []struct {
			Type, Title, Description string
			Targets                  []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	panels := map[string][]string{}
	for _, p := range file.Panels {
		for _, target := range p.Targets {
			panels[p.Title] = append(panels[p.Title], target.Expr)
		}
		if p.Type != "row" && (p.Description == "" || len(p.Targets) == 0) {
			t.Errorf("panel %s says or shows nothing", p.Title)
		}
	}
	return panels
}

// Every metric and label that the dashboard and the alerts name is there.
func TestDashboardsNameWhatThereIs(t *testing.T) {
	t.Parallel()
	known := labelsOf(t)
	used := map[string]bool{}
	check := func(where, expr string) {
		t.Helper()
		for name, labels := range namesIn(t, where, expr) {
			own, ok := known[base(name)]
			if !ok && !slices.Contains(processMetrics, name) {
				t.Errorf("%s: there is no metric %s", where, name)
				continue
			}
			used[base(name)] = true
			for _, label := range labels {
				if !slices.Contains(own, label) && !slices.Contains(scrapeLabels, label) && (label != "le" || name == base(name)) {
					t.Errorf("%s: %s has no label %s", where, name, label)
				}
			}
		}
	}
	for title, exprs := range readDashboard(t) {
		for _, expr := range exprs {
			check("panel "+title, expr)
		}
	}
	for _, a := range readAlerts(t) {
		check("alert "+a.Alert, a.Expr)
	}
	for name := range known {
		if !used[name] && name != "tallyman_rule_reload_timestamp_seconds" {
			t.Errorf("nothing shows %s", name)
		}
	}
}

// Every alert has a severity, waits before it fires, and tells the person on call what to do.
func TestAlertsAreComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, a := range readAlerts(t) {
		if seen[a.Alert] || a.Alert == "" {
			t.Errorf("alert %q comes twice", a.Alert)
		}
		seen[a.Alert] = true
		if a.For == "" || !slices.Contains([]string{"critical", "warning", "info"}, a.Labels["severity"]) {
			t.Errorf("%s: for %q, severity %q", a.Alert, a.For, a.Labels["severity"])
		}
		if a.Annotations["summary"] == "" || len(a.Annotations["description"]) < 100 {
			t.Errorf("%s: its description is no runbook: %q", a.Alert, a.Annotations["description"])
		}
	}
	if len(seen) < 10 {
		t.Errorf("%d alerts", len(seen))
	}
}

// promtool runs alerts_test.yaml (make deploy-check). Here each alert has a test there of its own name.
func TestAlertsHaveTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../deploy/alerts/alerts_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Tests []struct {
			Name            string
			PromqlExprTests []struct {
				Expr       string
				ExpSamples []struct{ Value int } `yaml:"exp_samples"`
			} `yaml:"promql_expr_test"`
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	fires, rests := map[string]bool{}, map[string]bool{}
	for _, group := range file.Tests {
		for _, e := range group.PromqlExprTests {
			if strings.Contains(e.Expr, `alertname="`+group.Name+`"`) {
				fires[group.Name] = fires[group.Name] || len(e.ExpSamples) > 0
				rests[group.Name] = rests[group.Name] || len(e.ExpSamples) == 0
			}
		}
	}
	for _, a := range readAlerts(t) {
		if !fires[a.Alert] || !rests[a.Alert] {
			t.Errorf("%s: alerts_test.yaml shows that the alert fires: %t, that the alert does not fire: %t", a.Alert, fires[a.Alert], rests[a.Alert])
		}
	}
}

// scrapeLabels are the labels that Prometheus adds at a scrape.
var scrapeLabels = []string{"instance", "job"}

// processMetrics are the metrics of the client library that the dashboard shows.
var processMetrics = []string{"process_cpu_seconds_total", "process_resident_memory_bytes"}

// base is the name of the metric that a series of a histogram is of.
func base(name string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if cut, ok := strings.CutSuffix(name, suffix); ok {
			return cut
		}
	}
	return name
}
