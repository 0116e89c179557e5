package trial_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tallyman/engine/trial"
	"tallyman/rules"
)

// TestWatermarksKeepFractions: without the fraction the watermark would be lower than its row, and each run would read
// the row again.
func TestWatermarksKeepFractions(t *testing.T) {
	t.Parallel()
	due := time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
	for place, s := range sites(t) {
		s.exec(t, "CREATE TABLE moves (id BIGINT, created VARCHAR(40))")
		for _, c := range []struct{ format, text, refused string }{
			{"2006-01-02 15:04:05.9999999", "2026-06-01 07:59:00.1234567", ""},
			{"2006-01-02 15:04:05.9999999", "2026-06-01 07:59:00", ""},
			{"2006-01-02 15:04:05.000000", "2026-06-01 07:59:00.120000", ""},
			{"2006-01-02 15:04:05", "2026-06-01 07:59:00.1234567", `column created holds "2026-06-01 07:59:00.1234567", which the format would write as "2026-06-01 07:59:00"`},
			{"2006-01-02 15:04:05.999999", "2026-06-01 07:59:00.120000", `would write as "2026-06-01 07:59:00.12"`},
			{"2006-01-02 15:04:05.999999", "2026-06-01 07:59:00.000000", `would write as "2026-06-01 07:59:00"`},
		} {
			s.exec(t, "DELETE FROM moves", "INSERT INTO moves VALUES (1, '"+c.text+"')")
			try, err := trial.New(eventRule(t, fmt.Sprintf(`{type: time, format: %q}`, c.format), "id < 9"), s.source(t, "UTC"), bins, trial.Start{})
			if err == nil {
				err = try.Verify(t.Context())
			}
			if err != nil {
				t.Fatalf("%s, %s: %v", place, c.format, err)
			}
			run, err := try.Run(t.Context(), due)
			switch {
			case err != nil:
				t.Fatalf("%s, %s: %v", place, c.format, err)
			case c.refused != "":
				if !strings.Contains(run.Run.Error, c.refused) || !strings.Contains(run.Run.Error, "where id is 1") {
					t.Errorf("%s, %s of %s: %q", place, c.format, c.text, run.Run.Error)
				}
			case run.Run.Error != "" || run.Run.Rows != 1:
				t.Errorf("%s, %s of %s: %d rows %q", place, c.format, c.text, run.Run.Rows, run.Run.Error)
			default:
				if run, err = try.Run(t.Context(), due.Add(time.Minute)); err != nil || run.Run.Rows != 0 {
					t.Errorf("%s, %s of %s: %d rows again, %v", place, c.format, c.text, run.Run.Rows, err)
				}
			}
		}
	}
}

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
