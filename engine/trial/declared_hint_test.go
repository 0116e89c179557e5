package trial_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tallyman/engine/trial"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/scanners"
)

// TestTheHintFitsTheColumn declares columns as the refused comparison proposes, by the size of their type. The rows are
// found then.
func TestTheHintFitsTheColumn(t *testing.T) {
	t.Parallel()
	types := catalog.Catalog{"REP_NOTICE": {Code: "REP_NOTICE", ID: 124719, Name: "Replenish", Retention: time.Hour, Fields: map[string]catalog.Field{"bin": {Type: catalog.String}}}}
	due := time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
	for place, s := range sites(t) {
		s.exec(t, "CREATE TABLE moves (id BIGINT, c8 CHAR(8), c14 CHAR(14), v14 VARCHAR(14), c10 CHAR(10), c19 CHAR(19), v40 VARCHAR(40))",
			"INSERT INTO moves VALUES (1, '20260601', '20260601080000', '20260601080000', '2026-06-01', '2026-06-01 08:00:00', '2026-06-01 08:00:00')")
		source := s.source(t, "UTC")
		for column, want := range map[string]string{
			"c8": `{type: date, format: "20060102"}`, "c14": `{type: time, format: "20060102150405"}`, "v14": `{type: time, format: "20060102150405"}`,
			"c10": `{type: date, format: "2006-01-02"}`, "c19": `{type: time, format: "2006-01-02 15:04:05"}`, "v40": `{type: time, format: "2006-01-02 15:04:05"}`,
		} {
			sqlText := "SELECT id, " + column + " FROM moves WHERE " + column + " < :now"
			_, err := scanners.PrepareForms(t.Context(), source, parsed(t, sqlText), nil)
			refused, ok := errors.AsType[*scanners.Error](err)
			if !ok || !strings.Contains(refused.Hint, "columns: {"+column+": "+want+"}") {
				t.Errorf("%s, %s: %v", place, column, err)
				continue
			}
			set := rules.LoadFile("f.yaml", []byte(`version: 1
rules:
  - id: moves
    mode: event
    schedule: {cron: "@hourly"}
    source: wms
    probe:
      sql: `+sqlText+`
      columns: {`+column+`: `+want+`}
    key: [id]
    notice: {type: REP_NOTICE, warehouse: "'w'", title: x, fields: {bin: "string(id)"}}
    deliver: [{sink: inbox}]
`))
			if err := set.Problems.Err(); err != nil {
				t.Fatal(err)
			}
			for at, rows := range map[time.Time]int{due.AddDate(0, 0, 2): 1, due.AddDate(0, 0, -2): 0} {
				try, err := trial.New(set.Rules[0], source, types, trial.Start{})
				if err == nil {
					err = try.Verify(t.Context())
				}
				if err != nil {
					t.Fatalf("%s, %s: %v", place, column, err)
				}
				if run, err := try.Run(t.Context(), at); err != nil || run.Run.Rows != rows || run.Run.Error != "" {
					t.Errorf("%s, %s at %s: %+v, %v", place, column, at, run, err)
				}
			}
		}
	}
}
