package scannertest

import "tallyman/rules/row"

// SQLServer is the dialect of SQL Server. SQLServer has not been run against a server.
func SQLServer() Dialect {
	d := Dialect{
		Version: "SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)) AS v",
		Literals: map[string]string{
			"bool": "CAST(1 AS bit)", "small": "CAST(-3 AS smallint)", "big": "CAST(9007199254740993 AS bigint)", "ratio": "CAST(0.25 AS float)", "decimal": "CAST(-12.5 AS decimal(12,1))",
			"text": `N'Zoë ''x'' 货位'`, "bytes": "CAST(0x00ff AS varbinary(10))", "date": "CAST('2026-06-01' AS date)", "time": "CAST('2026-06-01 08:00:00' AS datetime2(6))",
			"zoned": "CAST('2026-06-01T08:00:00+08:00' AS datetimeoffset)",
		},
		Types: map[string]string{
			"bool": "bit", "small": "smallint", "big": "bigint", "ratio": "float", "decimal": "decimal(12,3)", "text": "nvarchar(100)",
			"bytes": "varbinary(10)", "date": "date", "time": "datetime2(6)", "zoned": "datetimeoffset", "json": "nvarchar(max)",
		},
		Kinds: map[string]row.Kind{"json": row.Text},
		Bytes: "0x00ff",
		Zoned: "'2026-06-01T08:00:00+08:00'",
		Value: func(name, text string) string {
			switch name {
			case "bool":
				return map[string]string{"true": "1", "false": "0"}[text]
			case "text":
				return "N" + plainValue(name, text)
			}
			return plainValue(name, text)
		},
		Repeat:     "REPLICATE(CAST('x' AS varchar(max)), %d)",
		Stream:     100_000,
		Refused:    []string{"SELECT 1 AS a DELETE FROM tallyman_nowhere", "SELECT NEXT VALUE FOR tallyman_nowhere AS n", "SELECT n FROM OPENQUERY(other, 'SELECT 1') x"},
		NoRows:     true,
		NoSessions: true, NoExplain: true, NoInspect: true,
	}
	digitSeries(&d, "CAST(0 AS bigint)", "%s", "CONCAT('SKU-', n % 97)")
	return d
}
