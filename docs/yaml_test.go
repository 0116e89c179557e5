package docs

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tallyman/docs/codetest"
	"tallyman/engine/trial/ruletest"
	"tallyman/internal/app"
	"tallyman/internal/config"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
)

// TestYAML reads every YAML block of the pages as what it is: a rule file, a piece of a rule, a rule test, a type catalogue or a piece of a
// configuration. The content says which. Where it does not, a comment before the block does: <!-- yaml: config -->.
func TestYAML(t *testing.T) {
	t.Parallel()
	n := 0
	for _, page := range guides(t) {
		for _, b := range blocksOf(t, page) {
			if b.language != "yaml" {
				continue
			}
			n++
			kind := kindOf(t, b)
			read := readers[kind]
			if read == nil {
				t.Errorf("%s:%d: what is this YAML? Write <!-- yaml: KIND --> before it, with one of %v", b.page, b.line, slices.Sorted(maps.Keys(readers)))
				continue
			}
			for _, fault := range read(t, b) {
				t.Errorf("%s:%d, as a %s: %s", b.page, b.line, kind, fault)
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d blocks were found", n)
	}
}

// readers say what is wrong with a block of each kind.
var readers = map[string]func(*testing.T, fenced) []string{
	"rule file": readRules, "piece of a rule": readPiece, "rule test": readRuleTest, "catalogue of types": readTypes, "configuration": readConfiguration,
	"values of the chart": readValues,
}

// kindWords are the words for the kinds in comments.
var kindWords = map[string]string{
	"rules": "rule file", "rule": "piece of a rule", "test": "rule test", "types": "catalogue of types", "config": "configuration",
	"values": "values of the chart",
}

func kindOf(t *testing.T, b fenced) string {
	t.Helper()
	if word, ok := strings.CutPrefix(b.mark, "yaml: "); ok {
		return kindWords[word]
	}
	var top map[string]any
	if err := yaml.Unmarshal([]byte(b.text), &top); err != nil {
		t.Errorf("%s:%d: %v", b.page, b.line, err)
		return ""
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { _, ok := top[name]; return ok })
	}
	_, listed := top["types"].([]any)
	switch {
	case has("version"):
		return "rule file"
	case has("tests"):
		return "rule test"
	case listed:
		return "catalogue of types"
	case has("node", "http", "auth", "redis", "ledger", "sources", "sinks", "telemetry", "subscriptions"):
		return "configuration"
	case has("scopes", "probe", "schedule", "when", "notice", "deliver", "for", "limit", "group_by"):
		return "piece of a rule"
	}
	return ""
}

// knownSite has what the rules of the pages name.
func knownSite(t *testing.T) rules.Site {
	t.Helper()
	types, problems := catalog.Load("../configs/types.yaml")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	sinks := map[string]string{"inbox": "inbox", "replenishment": "queue", "gateway": "webhook", "sms": "chat", "mail": "mail", "webhook": "webhook"}
	return rules.Site{Sources: []string{"wms"}, Sinks: deliver.Sinks{Types: sinks}, Types: types}
}

func readRules(t *testing.T, b fenced) (faults []string) {
	t.Helper()
	if b.page == filepath.Join("reference", "rule-file.md") {
		return nil // the tests of package rules hold these, on a site of their own
	}
	set := rules.LoadFile("rule.yaml", []byte(b.text))
	rules.Check(set, knownSite(t))
	for _, p := range set.Problems {
		faults = append(faults, p.String())
	}
	if len(set.Rules) == 0 {
		faults = append(faults, "there is no rule")
	}
	return faults
}

// pieceFrame is a rule without what the pieces of the pages have.
const pieceFrame = `version: 1
rules:
  - id: piece
    source: wms
    key: [bin_code]
`

// missingFields are the lines that complete a piece.
var missingFields = []struct{ field, line string }{
	{"schedule", `schedule: {cron: "*/5 * * * *"}`},
	{"probe", `probe: {sql: "SELECT bin_code, qty FROM bin_stock WHERE wh_id = :scope AND qty < :threshold", params: {threshold: 0}}`},
	{"notice", `notice: {type: REP_NOTICE, warehouse: "'119240'", title: "Bin {{ .bin_code }}", fields: {bin: bin_code}}`},
	{"deliver", `deliver: [{sink: inbox}]`},
	{"scopes", `scopes: [{name: "119240"}]`},
}

func readPiece(t *testing.T, b fenced) []string {
	t.Helper()
	text := b.text
	for _, r := range missingFields {
		if !strings.Contains("\n"+b.text, "\n"+r.field+":") {
			text += r.line + "\n"
		}
	}
	b.text = pieceFrame + "    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
	return readRules(t, b)
}

// readRuleTest reads a test beside the rules that it names. Those of README.md and the tutorial run on the rule of their own page, that of the rule
// reference in package ruletest.
func readRuleTest(t *testing.T, b fenced) (faults []string) {
	t.Helper()
	if b.flags == "test" {
		return nil // package ruletest runs it
	}
	dir := t.TempDir()
	rule := ""
	for _, other := range blocksOf(t, b.page) {
		if other.language == "yaml" && strings.Contains(other.text, "version: 1\n") {
			rule = other.text
		}
	}
	var names struct{ Rules, Types string }
	if err := yaml.Unmarshal([]byte(b.text), &names); err != nil {
		return []string{err.Error()}
	}
	file := filepath.Join(dir, "tests", "page_test.yaml")
	for name, text := range map[string]string{names.Rules: rule, names.Types: codetest.ReadFile(t, "../configs/types.yaml")} {
		path := filepath.Join(filepath.Dir(file), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, problems := ruletest.Parse(file, []byte(b.text))
	for _, p := range problems {
		faults = append(faults, p.String())
	}
	return faults
}

func readTypes(t *testing.T, b fenced) (faults []string) {
	t.Helper()
	_, problems := catalog.Parse("types.yaml", []byte(b.text), catalog.OnSinks(knownSite(t).Sinks))
	for _, p := range problems {
		faults = append(faults, p.String())
	}
	return faults
}

// baseConfiguration is the configuration that pieces are laid over.
const baseConfiguration = `
auth: {mode: token}
ledger: {url: "sqlite:tallyman.db"}
types: {path: types.yaml}
sources: {wms: {driver: sqlite, url: "sqlite:wms.sqlite"}}
sinks:
  inbox: {type: inbox}
  gateway: {type: webhook, url: "https://gateway.example.com/hook"}
`

// variables are those that the pages name.
var variables = []string{
	"WMS_URL=postgres://tallyman_probe:x@wms-db:5432/wms", "WMS_PASSWORD=x", "LEDGER_PASSWORD=x", "REDIS_PASSWORD=x", "GATEWAY_SECRET=whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=", "GATEWAY_URL=https://gateway.example.com/hook",
	"SMTP_PASSWORD=x", "SHIFT_CHAT=slack://hook:T00AAAAAA-B00BBBBBB-cccccccccccccccccccccccc@webhook", "TWILIO_ACCOUNT=a", "TWILIO_TOKEN=b", "ESENDEX_USER=a",
	"ESENDEX_PASSWORD=b", "JPUSH_APP_KEY=a", "JPUSH_MASTER_SECRET=b", "WECOM_SECRET=a",
}

func readConfiguration(t *testing.T, b fenced) []string {
	t.Helper()
	var whole, piece map[string]any
	if err := yaml.Unmarshal([]byte(baseConfiguration), &whole); err != nil {
		t.Fatal(err)
	}
	text := b.text
	if strings.Contains(text, "driver: mysql, url: \"${WMS_URL}\"") {
		text = strings.Replace(text, "${WMS_URL}", "mysql://tallyman_probe:x@wms-db:3306/wms", 1)
	}
	text = strings.ReplaceAll(text, "file:/run/secrets/gateway", "${GATEWAY_SECRET}") // a secret that is no address is read at once
	if err := yaml.Unmarshal([]byte(text), &piece); err != nil {
		return []string{err.Error()}
	}
	for name, section := range piece {
		over, both := section.(map[string]any)
		under, ok := whole[name].(map[string]any)
		if !both || !ok {
			whole[name] = section
			continue
		}
		maps.Copy(under, over)
	}
	merged, err := yaml.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tallyman.yaml")
	if err := os.WriteFile(file, merged, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := app.LoadConfig(config.Options{File: file, Env: variables, Lazy: true}); err != nil {
		return []string{err.Error()}
	}
	return nil
}
