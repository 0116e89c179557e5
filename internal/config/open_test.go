package config

import (
	"errors"
	"testing"

	"tallyman/rules/problem"
)

const withSecrets = `
redis: {url: "${REDIS_URL}"}
ledger: {url: "file:/nowhere/ledger"}
sources:
  wms: {driver: postgres, url: "postgres://u:${WMS_PASSWORD}@db/wms", max_connections: 2}
  pilot: {driver: sqlite, url: "sqlite:pilot.db"}
`

// Those who need a secret hear what keeps it from them; the others do not.
func TestALazyLoadNeedsNoSecrets(t *testing.T) {
	t.Parallel()
	c, err := Load(Options{Types: types(), File: write(t, withSecrets), Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	if wms := c.Sources["wms"]; wms.Driver != Postgres || wms.MaxConnections != 2 || wms.URL.Reveal() != "" {
		t.Errorf("the source: %+v", wms)
	}
	if err := c.Need("sources", "pilot"); err != nil || c.Sources["pilot"].Path == "" {
		t.Errorf("a source without secrets: %v", err)
	}
	for part, code := range map[string]string{"redis": CodeUnset, "ledger": CodeFile, "sources": CodeUnset} {
		var l problem.List
		if err := c.Need(part); !errors.As(err, &l) || len(l) != 1 || l[0].Code != code || l[0].Line == 0 {
			t.Errorf("%s: %v", part, err)
		}
	}
	if err := c.Need("sources", "wms"); err == nil {
		t.Error("the source's password is not missed")
	}
}

func TestALazyLoadWithTheSecrets(t *testing.T) {
	t.Parallel()
	c, err := Load(Options{
		Types: types(), File: write(t, "sources: {wms: {driver: postgres, url: '${WMS_URL}'}}"), Lazy: true, Env: []string{"WMS_URL=postgres://u@db/wms"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Need("sources", "wms"); err != nil || c.Sources["wms"].URL.Reveal() != "postgres://u@db/wms" {
		t.Errorf("%+v, %v", c.Sources["wms"], err)
	}
}

func TestALazyLoadTellsWhatIsWrongAllTheSame(t *testing.T) {
	t.Parallel()
	for text, code := range map[string]string{
		"sources: {wms: {driver: postgre, url: '${WMS_URL}'}}":       "unknown_value",
		"sources: {wms: {driver: sqlite, url: '${a-b}'}}":            CodeReference,
		"sources: {wms: {driver: sqlite, url: 7}}":                   "wrong_type",
		"rules: {paths: ['${RULES}']}":                               CodeUnset,
		"sources: {wms: {driver: sqlite, url: 'postgres://x/y'}}":    CodeURL,
		"sources: {wms: {driver: postgres, uri: '${WMS_URL}'}}":      "unknown_field",
		"redis: {url: ['${REDIS_URL}', 'http://not-redis.example']}": "",
	} {
		_, err := Load(Options{Types: types(), File: write(t, text), Lazy: true})
		var l problem.List
		if code == "" {
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if !errors.As(err, &l) || l[0].Code != code {
			t.Errorf("%s: want %s, got %v", text, code, err)
		}
	}
}
