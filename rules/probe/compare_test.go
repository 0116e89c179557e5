package probe_test

import (
	"slices"
	"strings"
	"testing"

	"tallyman/rules/probe"
)

// TestComparisons finds columns beside built-in times, and asks for their types by the tables around them.
func TestComparisons(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string][]string{
		"SELECT id FROM moves WHERE created < :now":                                      {"now created: FROM moves"},
		"SELECT id FROM moves m, bins b WHERE :now >= m.\"Created\" GROUP BY id":         {"now m.\"Created\": FROM moves m, bins b"},
		"SELECT id FROM moves WHERE x = 1 AND created NOT BETWEEN :last_run_at AND :now": {"last_run_at created: FROM moves", "now created: FROM moves"},
		"SELECT id FROM moves WHERE qty BETWEEN 'a' AND 'b' AND :now > created":          {"now created: FROM moves"},
		"SELECT id FROM moves WHERE qty BETWEEN 1 AND 2 AND f(:now)":                     nil,
		"SELECT id FROM moves WHERE datetime(created) < :now":                            nil,
		"SELECT id FROM moves WHERE :now > datetime(created)":                            nil,
		"SELECT id FROM moves WHERE created + 1 < :now OR a || created < :now":           {},
		"SELECT id FROM moves WHERE created < :x AND 'created < :now' <> '' -- a < :now": nil,
		"SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b JOIN c ON c.i = b.i WHERE (x = 1 OR a.at < :until) LIMIT 1)": {
			"until a.at: FROM b JOIN c ON c.i = b.i", "until a.at: FROM a",
		},
		"WITH w AS (SELECT at FROM a WHERE at < :now) SELECT at FROM w WHERE at <= :now ORDER BY at": {
			"now at: FROM a", "now at: FROM w",
		},
		"SELECT extract(day FROM at) AS d FROM a WHERE at < :now UNION SELECT 1 FROM b WHERE at > :now;": {"now at: FROM a", "now at: FROM b"},
		"SELECT :now > 3 AS x": nil,
	} {
		stmt := parse(t, sql)
		var got []string
		for _, c := range stmt.Comparisons() {
			for _, q := range c.Questions {
				head, tables, _ := strings.Cut(q, " AS "+probe.Asked+" ")
				if !strings.HasSuffix(head, "SELECT "+c.Column) {
					t.Errorf("%s: asks %s", sql, q)
				}
				got = append(got, c.Param+" "+c.Column+": "+tables)
				if _, faults := probe.Parse(q); len(faults) > 0 {
					t.Errorf("%s: asks %s: %v", sql, q, faults)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}

// TestDeclare checks that built-in times beside declared columns get the columns' forms, and that other times stay
// times.
func TestDeclare(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"SELECT created FROM m WHERE created < :now AND at < :now AND created > :wm_created":    "SELECT created FROM m WHERE created < $1 AND at < $2::timestamptz AND created > $3: now.created now wm_created",
		"SELECT m.crt_dt AS created FROM m WHERE m.crt_dt < :now":                               "SELECT m.crt_dt AS created FROM m WHERE m.crt_dt < $1: now.created",
		"SELECT created FROM m WHERE :now > m.created OR created BETWEEN :last_run_at AND :now": "SELECT created FROM m WHERE $1 > m.created OR created BETWEEN $2 AND $1: now.created last_run_at.created",
		"SELECT created FROM m WHERE datetime(created) < :now":                                  "SELECT created FROM m WHERE datetime(created) < $1::timestamptz: now",
		"SELECT created FROM m WHERE created < :now - 3":                                        "fault :now",
		"SELECT created FROM m WHERE created < :now::text":                                      "fault :now",
		"SELECT created FROM m WHERE 3 + :now > created":                                        "fault :now",
	} {
		stmt, faults := parse(t, sql).Declare([]string{"created"})
		if len(faults) > 0 {
			if want != "fault :now" || faults[0].Offset != strings.Index(sql, ":now") {
				t.Errorf("%s: %+v", sql, faults)
			}
			continue
		}
		text, order := stmt.Render(probe.Dollar)
		if got := text + ": " + strings.Join(order, " "); got != want {
			t.Errorf("%s: %s\nwant %s", sql, got, want)
		}
	}
}
