package scannertest

import "fmt"

// SQLite is the dialect of SQLite.
func SQLite() Dialect {
	const hours = `WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s) `
	return Dialect{
		Version: "SELECT sqlite_version() || '' AS v",
		Literals: map[string]string{
			"bool": "TRUE", "small": "CAST(-3 AS SMALLINT)", "big": "9007199254740993", "ratio": "0.25", "decimal": "CAST(-12.5 AS NUMERIC)", "text": `'Zoë ''x'' 货位'`,
			"bytes": "CAST(x'00ff' AS BLOB)", "date": "date('2026-06-01')", "time": "datetime('2026-06-01 08:00:00')", "json": `json_array(1)`,
		},
		Types: map[string]string{
			"bool": "BOOLEAN", "small": "SMALLINT", "big": "BIGINT", "ratio": "DOUBLE PRECISION", "decimal": "DECIMAL(12,3)", "text": "TEXT",
			"bytes": "BLOB", "date": "DATE", "time": "TIMESTAMP", "zoned": "TIMESTAMPTZ", "json": "JSON",
		},
		Bytes: "x'00ff'",
		Zoned: "'2026-06-01T08:00:00+08:00'",
		Series: func(n int) string {
			return fmt.Sprintf(`WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < %d)
	SELECT CAST(n AS INTEGER) AS n, 'SKU-' || n %% 97 AS sku, CAST(n * 0.25 AS NUMERIC) AS qty, 'a note' AS note FROM s`, n)
		},
		Stream:    250_000, // pure Go with -race takes 40 s for a million; a leak of 35 bytes per row would still show
		Repeat:    "substr(hex(zeroblob((%[1]d + 1) / 2)), 1, %[1]d)",
		Untold:    true,
		Endless:   hours + "SELECT count(*) AS n FROM s",
		Trickle:   hours + "SELECT CAST(n AS INTEGER) AS n FROM s WHERE n = 1 OR n < 0",
		Refused:   []string{"SELECT load_extension('x') AS n"},
		Leaks:     []string{"SELECT last_insert_rowid() + 0 AS n", "SELECT random() AS n"},
		State:     "SELECT printf('%d %d', last_insert_rowid(), total_changes()) AS state",
		NoExplain: true,
		Schema:    "main",
		Stock: `CREATE TABLE stock (id INTEGER PRIMARY KEY, wh_id INTEGER NOT NULL, bin_code TEXT NOT NULL, qty DECIMAL(12,3) NOT NULL CHECK (qty < 1000),
			reserved DECIMAL(12,3) NOT NULL DEFAULT 0, free DECIMAL(12,3) GENERATED ALWAYS AS (qty - reserved) STORED, UNIQUE (wh_id, bin_code))`,
	}
}
