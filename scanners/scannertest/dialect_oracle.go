package scannertest

import "tallyman/rules/row"

// Oracle is the dialect of Oracle Database. Oracle has not been run against a server.
func Oracle() Dialect {
	d := Dialect{
		Version: "SELECT MAX(version) AS v FROM product_component_version",
		From:    " FROM dual",
		Literals: map[string]string{
			"bool": "CAST(1 AS NUMBER(1))", "small": "CAST(-3 AS NUMBER(5))", "big": "CAST(9007199254740993 AS NUMBER(18))", "ratio": "CAST(0.25 AS BINARY_DOUBLE)",
			"decimal": "CAST(-12.5 AS NUMBER(12,1))", "text": `N'Zoë ''x'' 货位'`, "bytes": "HEXTORAW('00ff')", "date": "DATE '2026-06-01'", "time": "TIMESTAMP '2026-06-01 08:00:00'",
			"zoned": "TIMESTAMP '2026-06-01 08:00:00 +08:00'",
		},
		LiteralKinds: map[string]row.Kind{"bool": row.Int, "date": row.Time},
		Types: map[string]string{
			"id": "NUMBER(9)", "bool": "NUMBER(1)", "small": "NUMBER(5)", "big": "NUMBER(18)", "ratio": "BINARY_DOUBLE", "decimal": "NUMBER(12,3)", "text": "NVARCHAR2(100)",
			"bytes": "RAW(10)", "date": "DATE", "time": "TIMESTAMP(6)", "zoned": "TIMESTAMP WITH TIME ZONE", "json": "VARCHAR2(100)",
		},
		Kinds: map[string]row.Kind{"bool": row.Int, "date": row.Time, "json": row.Text},
		Bytes: "HEXTORAW('00ff')",
		Zoned: "TIMESTAMP '2026-06-01 08:00:00 +08:00'",
		Value: func(name, text string) string {
			literal := plainValue(name, text)
			switch name {
			case "bool":
				return map[string]string{"true": "1", "false": "0"}[text]
			case "text":
				return "N" + literal
			case "date":
				return "DATE " + literal
			case "time":
				return "TIMESTAMP " + literal
			}
			return literal
		},
		Repeat:      "RPAD('x', %d, 'x')",
		Stream:      100_000,
		Refused:     []string{"SELECT n FROM tallyman_nowhere@other", "SELECT tallyman_nowhere.NEXTVAL AS n FROM dual", "WITH FUNCTION f RETURN NUMBER IS BEGIN RETURN 1; END; SELECT f AS n FROM dual"},
		NoRows:      true,
		NoNullKind:  true,
		EmptyIsNull: true,
		NoSessions:  true, NoExplain: true, NoInspect: true,
	}
	digitSeries(&d, "0", "CAST(%s AS NUMBER(18))", "'SKU-' || MOD(n, 97)")
	return d
}
