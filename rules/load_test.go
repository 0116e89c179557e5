package rules_test

import (
	"slices"
	"testing"

	"tallyman/rules"
	"tallyman/rules/catalog"
)

// The rules and types that the product ships hold against each other.
func TestShippedRulesFitShippedTypes(t *testing.T) {
	types, problems := catalog.Load("../configs/types.yaml")
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	set := rules.Load([]string{"../examples/wms/rules"})
	rules.Check(set, rules.Known{Sources: []string{"wms"}, Sinks: map[string]string{"inbox": "inbox", "replenishment": "queue"}, Types: types})
	for _, p := range set.Problems {
		t.Error(p.String())
	}
	if !set.Complete() || set.Find("negative-bin-stock", "119240") == nil {
		t.Errorf("complete %v, rules %d", set.Complete(), len(set.Rules))
	}
}

// The rules of testdata/good/design-example.yaml hold on a site that has what they name.
func TestDesignRulesFitTheirSite(t *testing.T) {
	known := site
	known.Types = siteTypes(t)
	set := rules.Load([]string{"testdata/good/design-example.yaml"})
	rules.Check(set, known)
	for _, p := range set.Problems {
		t.Error(p.String())
	}
	r := set.Find("negative-bin-stock", "119240")
	if r == nil {
		t.Fatalf("%d rules", len(set.Rules))
	}
	var entries []string
	for _, d := range r.Deliver {
		entries = append(entries, d.String())
	}
	want := []string{"inbox", "replenishment until it succeeds", "gateway for 30m", "sms after 10m unless read"}
	if !slices.Equal(entries, want) {
		t.Errorf("%q", entries)
	}
}
