package probe_test

import (
	"fmt"
	"slices"
	"testing"
)

// TestLiterals finds columns beside literals, and leaves alone what is calculated, cast or of another name.
func TestLiterals(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string][]string{
		"SELECT id FROM bins WHERE price > 100":                                           {"price 100 <"},
		"SELECT id FROM bins b WHERE '100' <= b.price AND b.\"Qty\" <> 'it''s' AND 5 = x": {"b.price '100' <", "b.\"Qty\" 'it's' !", "x 5"},
		"SELECT id FROM bins WHERE price > -1.5 AND qty=+3 AND a - 1 > b":                 {"price -1.5 <", "qty +3"},
		"SELECT id FROM bins WHERE price NOT BETWEEN '1' AND '9' AND x = 1":               {"price '1' <", "price '9' <", "x 1"},
		"SELECT id FROM bins WHERE code IN ('a', 'b') AND n NOT IN (1, -2) AND f(1, 2)":   {"code 'a'", "code 'b'", "n 1 !", "n -2 !"},
		"SELECT id FROM bins WHERE CAST(price AS int) > 5 AND price::int > 5":             nil,
		"SELECT id FROM bins WHERE price > 5 + x AND price > '5'::int AND a || 'x' = 'y'": nil,
		"SELECT id FROM bins WHERE price > 2 * x AND price COLLATE c > '5' AND x + y > 5": nil,
		"SELECT id FROM bins WHERE doc->>'a' > '5' AND doc->'a' = '5' AND doc @> '{}'":    nil,
		"SELECT x << 2 AS a, f(a => 5) AS b FROM bins LIMIT 5":                            nil,
		"SELECT CAST(price AS real) AS price FROM bins WHERE price > 5 ORDER BY a = 3":    {"price 5 <"},
		"SELECT price AS price FROM bins WHERE price > 5":                                 {"price 5 <"},
		"SELECT a, sum(b) AS c FROM bins WHERE b > 1 GROUP BY a HAVING c > 5 AND (a = 7)": {"b 1 <"},
		"SELECT a FROM x WHERE a > DATE '2026-01-01' AND b > N'5' AND c > E'5'":           nil,
		"SELECT CASE WHEN status = 3 THEN -1 ELSE 0 END AS x FROM bins":                   {"status 3"},
		"SELECT a FROM x WHERE a IN (SELECT b FROM y WHERE c = 'z')":                      {"c 'z'"},
	} {
		var got []string
		for _, c := range parse(t, sql).Literals() {
			text := c.Column + " " + c.Literal
			if c.IsText {
				text = fmt.Sprintf("%s '%s'", c.Column, c.Literal)
			}
			if c.IsOrder {
				text += " <"
			}
			if c.IsNot {
				text += " !"
			}
			if len(c.Questions) == 0 || c.At < 2 {
				t.Errorf("%s: %+v", sql, c)
			}
			got = append(got, text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}
