package trial_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tallyman/engine/trial"
	"tallyman/rules"
)

// TestDecimalWatermarks: a number that is declared as a decimal is a watermark. A text is not, because the database
// orders its letters.
func TestDecimalWatermarks(t *testing.T) {
	t.Parallel()
	due := time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
	for place, s := range sites(t) {
		s.exec(t, "CREATE TABLE counts (id BIGINT, amount DECIMAL(12, 2), weight DOUBLE PRECISION, note VARCHAR(20))",
			"INSERT INTO counts VALUES (9, 9.5, 9.5, '9.5'), (10, 10.25, 10.25, '10.25')")
		for _, column := range []string{"id", "amount", "weight", "note"} {
			set := rules.LoadFile("f.yaml", []byte(fmt.Sprintf(`version: 1
rules:
  - id: counts
    mode: event
    schedule: {cron: "*/5 * * * *"}
    source: wms
    probe:
      sql: SELECT %[1]s FROM counts WHERE %[1]s > :wm_%[1]s ORDER BY %[1]s
      columns: {%[1]s: {type: decimal}}
      watermark: {columns: [%[1]s], initial: {%[1]s: "9"}, look_back: 0}
    key: [%[1]s]
    notice: {type: REP_NOTICE, warehouse: "'w'", title: Look, fields: {bin: "'A'"}}
    deliver: [{sink: inbox}]
`, column)))
			if len(set.Problems) > 0 {
				t.Fatal(set.Problems)
			}
			try, err := trial.New(set.Rules[0], s.source(t, "UTC"), bins, trial.Start{})
			if err == nil {
				err = try.Verify(t.Context())
			}
			if column == "note" {
				if err == nil || !strings.Contains(err.Error(), `bad_column_form: the column "note" is a text`) {
					t.Errorf("%s, %s: %v", place, column, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s, %s: %v", place, column, err)
				continue
			}
			want := 2
			if column == "id" {
				want = 1
			}
			for i := range 2 {
				run, err := try.Run(t.Context(), due.Add(time.Duration(i)*5*time.Minute))
				if err != nil || run.Run.Error != "" || run.Run.Rows != want {
					t.Errorf("%s, %s, run %d: %d rows, %q, %v", place, column, i+1, run.Run.Rows, run.Run.Error, err)
				}
				want = 0
			}
		}
	}
}
