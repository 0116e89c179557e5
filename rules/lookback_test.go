package rules_test

import (
	"testing"
	"time"

	"tallyman/rules"
)

func TestLooksBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		w    *rules.Watermark
		want rules.LookBack
	}{
		"no watermark":        {nil, rules.LookBack{}},
		"a number":            {&rules.Watermark{Columns: []string{"id"}, Initial: map[string]any{"id": int64(0)}}, rules.LookBack{Time: 5 * time.Minute}},
		"a decimal in quotes": {&rules.Watermark{Columns: []string{"id"}, Initial: map[string]any{"id": "1.50"}}, rules.LookBack{Time: 5 * time.Minute}},
		"a time":              {&rules.Watermark{Columns: []string{"at"}, Initial: map[string]any{"at": "-1h"}}, rules.LookBack{}},
		"a time first":        {&rules.Watermark{Columns: []string{"at", "id"}, Initial: map[string]any{"at": "-1h", "id": int64(0)}}, rules.LookBack{}},
		"a text":              {&rules.Watermark{Columns: []string{"code"}, Initial: map[string]any{"code": ""}}, rules.LookBack{}},
		"none":                {&rules.Watermark{Columns: []string{"id"}, Initial: map[string]any{"id": int64(0)}, LookBack: &rules.LookBack{}}, rules.LookBack{}},
		"its own":             {&rules.Watermark{Columns: []string{"at"}, LookBack: &rules.LookBack{Time: time.Hour}}, rules.LookBack{Time: time.Hour}},
	} {
		if got := c.w.LooksBack(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
