package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tallyman/internal/testenv"
	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/postgres"
	"tallyman/scanners/scannertest"
)

// TestTypes reads types that the suite does not have, because only PostgreSQL has them.
func TestTypes(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	exec(t, url, `CREATE TYPE status AS ENUM ('open', 'done'); CREATE TYPE spot AS (x int, y int); CREATE DOMAIN qty AS numeric(10,2)`)
	s := open(t, postgres.Config{URL: url})
	for _, c := range []struct {
		sql  string
		kind row.Kind
		want string
	}{
		{"2::smallint", row.Int, "2"},
		{"(-2147483648)::int", row.Int, "-2147483648"},
		{"(-9223372036854775808)::bigint", row.Int, "-9223372036854775808"},
		{"4294967295::oid", row.Int, "4294967295"},
		{"1.5::real", row.Float, "1.5"},
		{"'NaN'::float8", row.Float, "NaN"},
		{"'-Infinity'::float8", row.Float, "-Infinity"},
		{"'NaN'::numeric", row.Decimal, "NaN"},
		{"'Infinity'::numeric", row.Decimal, "Infinity"},
		{"'-Infinity'::numeric", row.Decimal, "-Infinity"},
		{"3::qty", row.Decimal, "3.00"},
		{"1.0/3", row.Decimal, "0.33333333333333333333"},
		{"'A-01'::varchar(10)", row.Text, "A-01"},
		{"'A-01'::char(10)", row.Text, "A-01"},
		{"'  '::char(4)", row.Text, ""},
		{"'pg_class'::name", row.Text, "pg_class"},
		{"'open'::status", row.Text, "open"},
		{"ROW(1, 2)::spot", row.Text, "(1,2)"},
		{"ARRAY[1, 2]", row.Text, "{1,2}"},
		{"int4range(1, 5)", row.Text, "[1,5)"},
		{"'10.0.0.1'::inet", row.Text, "10.0.0.1"},
		{"'08:30'::time", row.Text, "08:30:00"},
		{"B'101'", row.Text, "101"},
		{"12.5::money", row.Text, "$12.50"},
		{"'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid", row.Text, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
		{`'{"b": 1, "a": [null]}'::jsonb`, row.JSON, `{"a": [null], "b": 1}`},
		{`'{"b":1}'::json`, row.JSON, `{"b":1}`},
		{"''::bytea", row.Bytes, ""},
		{"'2026-06-01'::date", row.Date, "2026-06-01"},
		{"'infinity'::date", row.Date, "9999-12-31"},
		{"'-infinity'::date", row.Date, "0001-01-01"},
		{"'4713-01-01 BC'::date", row.Date, "0001-01-01"},
		{"'1999-12-31 23:59:59.999999'::timestamp", row.Time, "1999-12-31T23:59:59.999999Z"},
		{"'0099-03-01'::timestamp", row.Time, "0099-03-01T00:00:00Z"},
		{"'infinity'::timestamptz", row.Time, "9999-12-31T23:59:59.999999Z"},
		{"'-infinity'::timestamp", row.Time, "0001-01-01T00:00:00Z"},
		{"'294276-12-31'::timestamptz", row.Time, "9999-12-31T23:59:59.999999Z"},
		{"'2 days 01:00:00.5'::interval", row.Duration, "49h0m0.5s"},
		{"'-90 minutes'::interval", row.Duration, "-1h30m0s"},
		{"current_setting('timezone')", row.Text, "UTC"},
	} {
		p := scannertest.Prepare(t, s, "SELECT "+c.sql+" AS v, NULL::int AS n, "+c.sql+" AS w")
		rows := scannertest.Rows(t, p, nil)
		v, w := rows[0].Values[0], rows[0].Values[2]
		if p.Columns()[0].Kind != c.kind || v.Kind() != c.kind || v.String() != c.want || w.String() != c.want {
			t.Errorf("%s: %s %q and %q, want %s %q", c.sql, v.Kind(), v, w, c.kind, c.want)
		}
	}
	for _, sql := range []string{"'1 month'::interval", "'400 years'::interval / 2", "'200000 days'::interval"} {
		p := scannertest.Prepare(t, s, "SELECT "+sql+" AS v")
		_, err := p.Scan(t.Context(), scanners.Request{}, func(*row.Row) error { return nil })
		wantCode(t, sql, err, scanners.CodeFailed, "column v")
	}
}

// TestNumeric compares the binary decoder with PostgreSQL's own text, for numbers of every length and scale.
func TestNumeric(t *testing.T) {
	t.Parallel()
	s := open(t, postgres.Config{URL: testenv.Postgres(t)})
	digits := rapid.StringMatching(`-?[0-9]{1,24}(\.[0-9]{1,24})?`)
	zeros := rapid.StringMatching(`-?0{0,9}[1-9]?0{0,12}[0-9](\.0{0,12}[0-9]{0,2}0{1,12})?`)
	p := scannertest.Prepare(t, s, "SELECT x::numeric AS n, x::numeric::text AS t FROM unnest(string_to_array(:list, ' ')) x")
	rapid.Check(t, func(r *rapid.T) {
		numbers := append(rapid.SliceOfN(digits, 20, 20).Draw(r, "digits"), rapid.SliceOfN(zeros, 20, 20).Draw(r, "zeros")...)
		numbers = append(numbers, "0", "0.00", "1e30", "1e-30", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
			"922337203685477.5807", "0.0001", "0.00010", "10000", "10000.0001", "1e1000", "1e-1000")
		rows := 0
		_, err := p.Scan(t.Context(), scanners.Request{Args: map[string]any{"list": strings.Join(numbers, " ")}}, func(got *row.Row) error {
			rows++
			want, err := row.ParseDecimal(got.Values[1].Text())
			if err != nil {
				return err
			}
			if n := got.Values[0]; n.String() != want.String() {
				return fmt.Errorf("%s was read as %s", got.Values[1].Text(), n)
			}
			return nil
		})
		if err != nil || rows != len(numbers) {
			r.Fatalf("%d rows, %v", rows, err)
		}
	})
}
