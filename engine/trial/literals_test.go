package trial_test

import (
	"fmt"
	"strings"
	"testing"

	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// TestLiteralsOfAnotherKind finds texts that are compared with numbers and numbers that are compared with texts, by the
// types that real databases tell.
func TestLiteralsOfAnotherKind(t *testing.T) {
	t.Parallel()
	for place, s := range sites(t) {
		flag := "VARCHAR(8)"
		if place == "mariadb" {
			flag = "ENUM('a','b')"
		}
		s.exec(t, "DROP TABLE IF EXISTS prices", "CREATE TABLE prices (id BIGINT, code VARCHAR(40), price VARCHAR(20), qty INT, cost DECIMAL(9,2), day DATE, flag "+flag+")",
			"DROP TABLE IF EXISTS orders2", "CREATE TABLE orders2 (no BIGINT, price DECIMAL(9,2), state VARCHAR(10))")
		source := s.source(t, "UTC")
		for where, want := range map[string]string{
			"price > '100'":                "text_as_number",
			"'9.5' <= p.price":             "text_as_number",
			"price > 100":                  "text_as_number",
			"price = 100":                  "text_as_number",
			"code IN (1, 2)":               "text_as_number text_as_number",
			"qty = 'many'":                 "number_as_text",
			"cost < 'A-01'":                "number_as_text",
			"qty IN ('1', 'x')":            "number_as_text",
			"qty = 'many' AND price > '7'": "number_as_text text_as_number",
			"price IN (SELECT state FROM orders2 WHERE no=1)":                               "",
			"price = '100' AND code <> '5' AND code > 'A'":                                  "",
			"code BETWEEN '100' AND '199'":                                                  "",
			"code >= '100' AND code < '200'":                                                "",
			"code >= '0100' AND code < '20260601'":                                          "",
			"qty > '5' AND qty <> 'N/A' AND qty <> ''":                                      "",
			"qty > 5 AND cost >= -1.5 AND 3 < id":                                           "",
			"day >= '2026-06-01' AND CAST(price AS DECIMAL(18,4)) > 5":                      "",
			"EXISTS (SELECT 1 FROM orders2 o WHERE o.no = p.id AND price > 5)":              "",
			"EXISTS (SELECT 1 FROM orders2 o WHERE o.no = p.id AND state > '5')":            "text_as_number",
			"id IN (SELECT no FROM (SELECT no, state AS x FROM orders2) t WHERE t.x > '5')": "text_as_number",
			"flag = 1": map[string]string{"sqlite": "text_as_number", "postgres": "text_as_number"}[place],
		} {
			set := rules.LoadFile("f.yaml", []byte(fmt.Sprintf("version: 1\nrules:\n  - id: a\n    schedule: {cron: '*/5 * * * *'}\n    source: wms\n    probe:\n      sql: >-\n        SELECT id FROM prices p WHERE %s\n"+
				"    key: [id]\n    notice: {type: REP_NOTICE, warehouse: \"'w'\", title: Look, fields: {bin: string(id)}}\n    deliver: [{sink: inbox}]\n", where)))
			if len(set.Problems) > 0 {
				t.Fatal(set.Problems)
			}
			var got []string
			for _, p := range rules.LintSQL(set.Rules[0], func(questions []string) *row.Column {
				col, err := scanners.AskColumn(t.Context(), source, questions)
				if err != nil {
					t.Error(err)
				}
				return col
			}) {
				got = append(got, p.Code)
				if p.Line != 8 || p.Col < 30 || p.Hint == "" {
					t.Errorf("%s: %+v", where, p)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s: %s: %q, want %q", place, where, got, want)
			}
		}
	}
}
