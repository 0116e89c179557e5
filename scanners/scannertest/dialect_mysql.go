package scannertest

import "tallyman/rules/row"

// MySQL is the dialect of MariaDB, or of MySQL if mariaDB is false.
func MySQL(mariaDB bool) Dialect {
	d := Dialect{
		Version: "SELECT VERSION() AS v",
		Literals: map[string]string{
			"small": "-3", "big": "9007199254740993", "ratio": "0.25e0", "decimal": "CAST(-12.5 AS decimal(12,1))", "text": `'Zoë ''x'' 货位'`, "bytes": "UNHEX('00ff')",
			"date": "CAST('2026-06-01' AS date)", "time": "CAST('2026-06-01 08:00:00' AS datetime)",
		},
		Types: map[string]string{
			"bool": "boolean", "small": "smallint", "big": "bigint", "ratio": "double", "decimal": "decimal(12,3)", "text": "text",
			"bytes": "blob", "date": "date", "time": "datetime(6)", "zoned": "timestamp(6) NULL", "json": "json",
		},
		Bytes:  "x'00ff'",
		Zoned:  "'2026-06-01 00:00:00'",
		Repeat: "repeat('x', %d)", LargeSetup: "SET GLOBAL max_allowed_packet = 1073741824",
		Refused: []string{"SELECT SLEEP(0) AS n", "SELECT LOAD_FILE('x') AS n"},
		WriterSetup: `
			CREATE TABLE kept (id int) ENGINE = InnoDB; CREATE TABLE kept_aria (id int) ENGINE = Aria; CREATE TABLE kept_memory (id int) ENGINE = MEMORY;
			CREATE SEQUENCE seq; CREATE SEQUENCE hidden;
			CREATE FUNCTION writer() RETURNS int MODIFIES SQL DATA BEGIN INSERT INTO kept VALUES (1); RETURN 1; END;
			CREATE FUNCTION writer_aria() RETURNS int MODIFIES SQL DATA BEGIN INSERT INTO kept_aria VALUES (1); RETURN 1; END;
			CREATE FUNCTION writer_memory() RETURNS int MODIFIES SQL DATA BEGIN DELETE FROM kept_memory; RETURN 1; END;
			CREATE FUNCTION unlocked() RETURNS int MODIFIES SQL DATA BEGIN SET SESSION tx_read_only = 0; UPDATE kept SET id = 2; RETURN 1; END;
			CREATE FUNCTION mover() RETURNS bigint MODIFIES SQL DATA RETURN NEXT VALUE FOR hidden`,
		Writers: []string{
			"SELECT writer() AS n", "SELECT writer_aria() AS n", "SELECT writer_memory() AS n", "SELECT unlocked() AS n", "SELECT mover() AS n",
			"SELECT id FROM sample WHERE writer() = 1", "SELECT NEXT VALUE FOR seq AS n",
		},
		LeakSetup: `
			CREATE FUNCTION zone(name varchar(50)) RETURNS int BEGIN SET time_zone = name; RETURN 1; END;
			CREATE FUNCTION clock() RETURNS int BEGIN SET max_statement_time = 0; RETURN 1; END;
			CREATE FUNCTION mode() RETURNS int BEGIN SET sql_mode = ''; RETURN 1; END;
			CREATE FUNCTION hold() RETURNS int BEGIN DO GET_LOCK('tallyman', 0); RETURN 1; END;
			CREATE FUNCTION held() RETURNS int RETURN COALESCE(IS_USED_LOCK('tallyman') = CONNECTION_ID(), 0)`,
		Leaks: []string{
			"SELECT zone('+09:00') AS n", "SELECT clock() AS n", "SELECT mode() AS n", "SELECT hold() AS n", "SELECT LAST_INSERT_ID(42) AS n",
		},
		State:          "SELECT CONCAT_WS(' ', @@time_zone, @@max_statement_time, @@sql_mode, held(), LAST_INSERT_ID()) AS state",
		StagedInSchema: true,
		Stock: `CREATE TABLE stock (id int PRIMARY KEY AUTO_INCREMENT, wh_id int NOT NULL, bin_code varchar(40) NOT NULL, qty decimal(12,3) NOT NULL CHECK (qty < 1000),
			reserved decimal(12,3) NOT NULL DEFAULT 0, free decimal(12,3) AS (qty - reserved) VIRTUAL, UNIQUE (wh_id, bin_code))`,
	}
	if mariaDB {
		d.Kinds = map[string]row.Kind{"json": row.Text} // a LONGTEXT with a check
	}
	digitSeries(&d, "0", "%s", "CONCAT('SKU-', n % 97)")
	return d
}
