package rules_test

import (
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
