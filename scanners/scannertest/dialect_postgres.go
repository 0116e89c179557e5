package scannertest

import "fmt"

// Postgres is the dialect of PostgreSQL.
func Postgres() Dialect {
	return Dialect{
		Version: "SELECT current_setting('server_version') AS v",
		Literals: map[string]string{
			"bool": "TRUE", "small": "CAST(-3 AS smallint)", "big": "9007199254740993", "ratio": "CAST(0.25 AS double precision)", "decimal": "CAST(-12.5 AS numeric(12,1))",
			"text": `'Zoë ''x'' 货位'`, "bytes": `CAST('\x00ff' AS bytea)`, "date": "DATE '2026-06-01'", "time": "TIMESTAMP '2026-06-01 08:00:00'",
			"zoned": "TIMESTAMPTZ '2026-06-01T08:00:00+08:00'", "json": `CAST('{"a": [1]}' AS json)`,
		},
		Types: map[string]string{
			"bool": "boolean", "small": "smallint", "big": "bigint", "ratio": "double precision", "decimal": "numeric(12,3)", "text": "text",
			"bytes": "bytea", "date": "date", "time": "timestamp", "zoned": "timestamptz", "json": "json",
		},
		Bytes: `'\x00ff'`,
		Zoned: "'2026-06-01T08:00:00+08:00'",
		Series: func(n int) string {
			return fmt.Sprintf("SELECT n, 'SKU-' || n %% 97 AS sku, n * 0.25 AS qty, 'a note' AS note FROM (SELECT generate_series(1, %d) AS n) s", n)
		},
		Repeat:  "repeat('x', %d)",
		Endless: "SELECT count(*) AS n FROM generate_series(1, 100000) a, generate_series(1, 100000000) b",
		Trickle: "SELECT 1 AS n UNION ALL SELECT b FROM generate_series(1, 100000) a, generate_series(1, 1000000) b WHERE a + b < 0",
		Refused: []string{"SELECT pg_terminate_backend(1)", "SELECT nextval('tallyman_nowhere')"},
		WriterSetup: `
			CREATE FUNCTION writer() RETURNS int LANGUAGE sql AS 'DELETE FROM sample; SELECT 1';
			CREATE FUNCTION unlocked() RETURNS int LANGUAGE plpgsql AS
				$$ BEGIN PERFORM set_config('transaction_read_only', 'off', false); DELETE FROM sample; RETURN 1; END $$;
			CREATE FUNCTION maker() RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'CREATE TABLE made (x int)'; RETURN 1; END $$;
			CREATE SEQUENCE seq;
			CREATE FUNCTION mover() RETURNS bigint LANGUAGE sql AS 'SELECT nextval(''seq'')'`,
		Writers: []string{"SELECT writer()", "SELECT unlocked()", "SELECT maker()", "SELECT mover()", "SELECT id FROM sample WHERE writer() = 1"},
		LeakSetup: `
			CREATE FUNCTION leak(name text, value text) RETURNS text LANGUAGE sql AS 'SELECT set_config(name, value, false)';
			CREATE FUNCTION hold() RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_lock(42); RETURN 1; END $$;
			CREATE FUNCTION remember() RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'PREPARE stuck AS SELECT 1'; RETURN 1; END $$;
			CREATE FUNCTION hear() RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'LISTEN gossip'; RETURN 1; END $$`,
		Leaks: []string{
			"SELECT leak('statement_timeout', '0') AS v", "SELECT leak('search_path', 'nowhere') AS v", "SELECT leak('timezone', 'Asia/Tokyo') AS v",
			"SELECT leak('role', 'pg_read_all_data') AS v", "SELECT hold()", "SELECT remember()", "SELECT hear()",
		},
		State: `SELECT concat_ws(' ', current_setting('statement_timeout'), current_setting('search_path'), current_setting('timezone'), current_user,
			(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()), (SELECT count(*) FROM pg_prepared_statements WHERE name <> ''),
			(SELECT count(*) FROM pg_listening_channels()), pg_backend_pid(), pg_current_xact_id_if_assigned() IS NULL) AS state`,
		Schema: "public",
		Stock: `CREATE TABLE stock (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, wh_id integer NOT NULL, bin_code text NOT NULL,
			qty numeric(12,3) NOT NULL CHECK (qty < 1000), reserved numeric(12,3) NOT NULL DEFAULT 0,
			free numeric(12,3) GENERATED ALWAYS AS (qty - reserved) STORED, UNIQUE (wh_id, bin_code))`,
	}
}
