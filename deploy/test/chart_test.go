package test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"helm.sh/helm/v3/pkg/releaseutil"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const chartFolder = "../helm/tallyman"

// The objects of each set of values.
var objects = map[string][]string{
	"default": {"ConfigMap", "ConfigMap", "ConfigMap", "Job", "NetworkPolicy", "PodDisruptionBudget", "Service", "Service", "StatefulSet"},
	"full": {
		"ConfigMap", "ConfigMap", "ConfigMap", "ConfigMap", "Job", "NetworkPolicy", "PodDisruptionBudget", "PrometheusRule", "Service", "Service",
		"ServiceMonitor", "StatefulSet",
	},
	"small": {"ConfigMap", "Service", "Service", "StatefulSet"},
}

// TestChart: Helm and the schemas of Kubernetes accept the chart with each set of values.
func TestChart(t *testing.T) {
	t.Parallel()
	for set, want := range objects {
		values := readValues(t, filepath.Join(chartFolder, "ci", set+"-values.yaml"))
		for _, m := range lint.AllWithKubeVersion(chartFolder, values, "wms", &chartutil.DefaultCapabilities.KubeVersion).Messages {
			if m.Severity >= support.WarningSev {
				t.Errorf("%s: lint: %v", set, m)
			}
		}
		rendered, err := render(t, values)
		if err != nil {
			t.Errorf("%s: %v", set, err)
			continue
		}
		var got []string
		for _, doc := range rendered {
			kind := kindOf(t, doc)
			got = append(got, kind)
			if into := operatorTypes[kind]; into != nil {
				if err := yaml.UnmarshalStrict([]byte(doc), into()); err != nil {
					t.Errorf("%s: %v\n%s", set, err, doc)
				}
				continue
			}
			for _, version := range kubernetes {
				if err := fits(t, version, doc); err != nil {
					t.Errorf("%s: Kubernetes %s: %v\n%s", set, version, err, doc)
				}
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s makes %v, want %v", set, got, want)
		}
	}
}

// operatorTypes are the kinds of the Prometheus operator, which has Go types in place of schemas.
var operatorTypes = map[string]func() any{
	"ServiceMonitor": func() any { return &monitoring.ServiceMonitor{} },
	"PrometheusRule": func() any { return &monitoring.PrometheusRule{} },
}

// TestPods: each container is bound, a pod has time for its drain, and a change of the configuration restarts the nodes.
func TestPods(t *testing.T) {
	t.Parallel()
	sums := map[string]bool{}
	for set := range objects {
		rendered, err := render(t, readValues(t, filepath.Join(chartFolder, "ci", set+"-values.yaml")))
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range rendered {
			var pod core.PodTemplateSpec
			switch kindOf(t, doc) {
			case "StatefulSet":
				var s apps.StatefulSet
				decode(t, doc, &s)
				pod = s.Spec.Template
				sums[pod.Annotations["checksum/config"]] = true
				probes := pod.Spec.Containers[0]
				if probes.StartupProbe.HTTPGet.Path != "/readyz" || probes.ReadinessProbe.HTTPGet.Path != "/healthz" || probes.LivenessProbe.HTTPGet.Path != "/healthz" {
					t.Errorf("%s: the probes ask %v, %v and %v", set, probes.StartupProbe, probes.ReadinessProbe, probes.LivenessProbe)
				}
				if grace, delay := *pod.Spec.TerminationGracePeriodSeconds, delayOf(t, rendered); grace < delay+30 {
					t.Errorf("%s: a pod has %d s to stop, and drains for %d s", set, grace, delay)
				}
			case "Job":
				var j batch.Job
				decode(t, doc, &j)
				pod = j.Spec.Template
				if !strings.Contains(j.Annotations["helm.sh/hook"], "pre-upgrade") {
					t.Errorf("%s: the migration is no hook: %v", set, j.Annotations)
				}
			default:
				continue
			}
			checkBound(t, set, &pod.Spec)
		}
	}
	if len(sums) != len(objects) {
		t.Errorf("%d sets of values have %d configurations", len(objects), len(sums))
	}
}

// checkBound looks at what a pod may do.
func checkBound(t *testing.T, set string, pod *core.PodSpec) {
	t.Helper()
	s, c := pod.SecurityContext, pod.Containers[0].SecurityContext
	if !*s.RunAsNonRoot || *s.RunAsUser == 0 || s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault || *pod.AutomountServiceAccountToken {
		t.Errorf("%s: the pod may too much: %v", set, s)
	}
	if !*c.ReadOnlyRootFilesystem || *c.AllowPrivilegeEscalation || !slices.Equal(c.Capabilities.Drop, []core.Capability{"ALL"}) || len(c.Capabilities.Add) > 0 {
		t.Errorf("%s: the container may too much: %v", set, c)
	}
	if pod.Containers[0].Resources.Limits.Memory().IsZero() {
		t.Errorf("%s: the container has no limit of memory", set)
	}
}

// delayOf is node.drain_delay of the rendered configuration, in seconds.
func delayOf(t *testing.T, rendered []string) int64 {
	t.Helper()
	for _, doc := range rendered {
		var m core.ConfigMap
		if kindOf(t, doc) != "ConfigMap" {
			continue
		}
		decode(t, doc, &m)
		if text, ok := m.Data["tallyman.yaml"]; ok {
			var config struct {
				Node struct {
					DrainDelay string `json:"drain_delay"`
				}
			}
			if err := yaml.Unmarshal([]byte(text), &config); err != nil {
				t.Fatal(err)
			}
			var seconds int64
			for _, digit := range strings.TrimSuffix(config.Node.DrainDelay, "s") {
				seconds = seconds*10 + int64(digit-'0')
			}
			return seconds
		}
	}
	t.Fatal("there is no configuration")
	return 0
}

// TestRunbookLinks: the alerts of the chart lead to the site's copy of docs.
func TestRunbookLinks(t *testing.T) {
	t.Parallel()
	rendered, err := render(t, readValues(t, filepath.Join(chartFolder, "ci", "full-values.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(rendered, "\n")
	if strings.Contains(text, "tallyman.example.com/docs") || !strings.Contains(text, "https://wiki.example.com/tallyman/docs/runbooks/") {
		t.Error("the alerts of the chart do not lead to the site's runbooks")
	}
}

// TestBadValues: what would fail on the cluster fails before, with the name of the value.
func TestBadValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"config: {auth: {mode: none}}":                               "mode",
		"config: {http: {listen: 127.0.0.1:9000}}":                   "listen",
		"config: {rules: {paths: [rules]}}":                          "rules",
		"image: {tag: latest}":                                       "tag",
		"secrets: {existingSecret: ''}":                              "existingSecret",
		"replica: 2":                                                 "replica",
		"rules: {stock.txt: 'version: 1'}":                           "stock.txt",
		"{drainDelaySeconds: 60, terminationGracePeriodSeconds: 80}": "terminationGracePeriodSeconds",
	} {
		values := map[string]any{}
		if err := yaml.Unmarshal([]byte(text), &values); err != nil {
			t.Fatal(err)
		}
		if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func readValues(t *testing.T, file string) map[string]any {
	t.Helper()
	values, err := chartutil.ReadValuesFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// render makes the objects of the chart, as helm template does.
func render(t *testing.T, values map[string]any) ([]string, error) {
	t.Helper()
	chart, err := loader.Load(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(chart, values, chartutil.ReleaseOptions{Name: "wms", Namespace: "wms", Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, ".yaml") {
			for _, doc := range releaseutil.SplitManifests(files[name]) {
				list = append(list, doc)
			}
		} else if strings.HasSuffix(name, "NOTES.txt") && !strings.Contains(files[name], "rollout status statefulset/wms-tallyman") {
			t.Errorf("NOTES.txt: %s", files[name])
		}
	}
	return list, nil
}

func kindOf(t *testing.T, doc string) string {
	t.Helper()
	var object struct{ Kind string }
	if err := yaml.Unmarshal([]byte(doc), &object); err != nil || object.Kind == "" {
		t.Fatalf("%v: %s", err, doc)
	}
	return object.Kind
}

func decode(t *testing.T, doc string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(doc), into); err != nil {
		t.Fatal(err)
	}
}

// The links in the chart lead to the files of the repository, so that there is one copy.
func TestChartHasNoCopies(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(filepath.Join(chartFolder, "files"))
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		if f.Type()&os.ModeSymlink == 0 {
			t.Errorf("%s is a copy", f.Name())
		}
	}
}
