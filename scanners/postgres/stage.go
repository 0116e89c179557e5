package postgres

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tallyman/rules/row"
	"tallyman/scanners"
)

var (
	//go:embed stage.sql
	stageSQL string
	//go:embed stage_columns.sql
	stageColumnsSQL string
)

// stage creates the tables in the session's transaction, which may still write at that moment.
func (x *session) stage(ctx context.Context, staged []scanners.StagedTable) error {
	if len(staged) == 0 {
		return nil
	}
	conn := x.conn.Conn().PgConn()
	if err := x.source.execute(ctx, conn, stageSQL); err != nil {
		return cannotStage(&staged[0], err, "the source's user needs TEMPORARY on the database: GRANT TEMPORARY ON DATABASE … TO …")
	}
	for i := range staged {
		t := stagedTable{StagedTable: &staged[i], source: x.source, conn: conn}
		if err := t.set(ctx); err != nil {
			return cannotStage(&staged[i], err, "")
		}
		if t.hidden != "" {
			x.hidden = append(x.hidden, t.hidden)
		}
	}
	return nil
}

// stagedTable is a table that is being staged.
type stagedTable struct {
	*scanners.StagedTable
	source *Source
	conn   *pgconn.PgConn

	name   string // quoted
	hidden string // the OID of the database's own table; "" if there is none
	// quoted names of the columns that fill inserts; the last "numbered" of them get the number of the row
	insert   []string
	numbered int
}

// set creates the table and fills it. Before the fill, set makes the transaction read-only, which still allows writes
// to temporary tables. So a default can do no more than return a value. Afterwards the trigger refuses all writes,
// because the read-only mode alone would allow them.
func (t *stagedTable) set(ctx context.Context) error {
	name, err := t.TableName()
	if err != nil {
		return err
	}
	if err := t.Check(); err != nil {
		return err
	}
	t.name = quoted(name)
	found, err := t.source.query(ctx, t.conn, stageColumnsSQL, t.name)
	if err != nil {
		return err
	}
	define := t.define
	if len(found) > 0 {
		define = func() (string, error) { return t.defineLike(found) }
	}
	create, err := define()
	if err != nil {
		return err
	}
	if err := t.source.execute(ctx, t.conn, create+"; SAVEPOINT fill; SET TRANSACTION READ ONLY"); err != nil {
		return err
	}
	if err := t.fill(ctx); err != nil {
		return err
	}
	return t.source.execute(ctx, t.conn, "RELEASE SAVEPOINT fill; CREATE TRIGGER tallyman_read_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pg_temp."+
		t.name+" FOR EACH STATEMENT EXECUTE FUNCTION pg_temp.tallyman_read_only()")
}

// define returns the SQL for a table that the database does not have.
func (t *stagedTable) define() (string, error) {
	if len(t.Columns) == 0 {
		return "", t.NoColumns()
	}
	var columns []string
	for _, c := range t.Columns {
		name := quoted(strings.ToLower(c.Name))
		t.insert = append(t.insert, name)
		columns = append(columns, name+" "+typeFor(c.Kind))
	}
	return "CREATE TEMP TABLE " + t.name + " (" + strings.Join(columns, ", ") + ") ON COMMIT DROP", nil
}

func typeFor(kind row.Kind) string {
	switch kind {
	case row.Bool:
		return "boolean"
	case row.Int:
		return "bigint"
	case row.Float:
		return "double precision"
	case row.Decimal:
		return "numeric"
	case row.Bytes:
		return "bytea"
	case row.Date:
		return "date"
	case row.Time:
		return "timestamptz"
	case row.Duration:
		return "interval"
	case row.JSON:
		return "jsonb"
	default:
		return "text"
	}
}

// defineLike returns the SQL for a table that the database has, with the columns that were found. Columns without
// values in the rows may be NULL.
func (t *stagedTable) defineLike(found [][]string) (string, error) {
	t.hidden = found[0][0]
	var names []string
	for _, column := range found {
		names = append(names, column[1])
	}
	matches, err := t.Match(names)
	if err != nil {
		return "", err
	}
	for _, i := range matches {
		t.insert = append(t.insert, quoted(names[i]))
	}
	sql := "CREATE TEMP TABLE " + t.name + " (LIKE " + t.name + " INCLUDING DEFAULTS INCLUDING GENERATED) ON COMMIT DROP"
	alter := func(column, what string) {
		sql += "; ALTER TABLE pg_temp." + t.name + " ALTER COLUMN " + column + " " + what
	}
	for i, column := range found {
		name, required, counts, generated := quoted(column[1]), column[2] == "t", column[3] == "t", column[4] == "t"
		switch given := slices.Contains(matches, i); {
		case given && generated:
			alter(name, "DROP EXPRESSION")
		case given:
		case counts:
			t.insert = append(t.insert, name)
			t.numbered++
		case required:
			alter(name, "DROP NOT NULL")
		}
	}
	return sql, nil
}

// fill inserts the rows.
func (t *stagedTable) fill(ctx context.Context) error {
	if len(t.Rows) == 0 {
		return nil
	}
	insert := "INSERT INTO pg_temp." + t.name + " DEFAULT VALUES"
	if len(t.insert) > 0 {
		var params []string
		for i := range t.insert {
			params = append(params, "$"+strconv.Itoa(i+1))
		}
		insert = "INSERT INTO pg_temp." + t.name + " (" + strings.Join(t.insert, ", ") + ") VALUES (" + strings.Join(params, ", ") + ")"
	}
	described, err := t.conn.Prepare(ctx, "", insert, nil)
	if err != nil {
		return t.source.mapError(ctx, err, "")
	}
	batch := &pgconn.Batch{}
	for i, values := range t.Rows {
		args, err := t.encode(i, values, described.ParamOIDs)
		if err != nil {
			return err
		}
		batch.ExecPrepared("", args, nil, nil)
	}
	results := t.conn.ExecBatch(ctx, batch)
	at := 0
	for results.NextResult() {
		if _, err := results.ResultReader().Close(); err != nil {
			break
		}
		at++
	}
	if err := results.Close(); err != nil {
		mapped := t.source.mapError(ctx, err, "")
		mapped.Err = fmt.Errorf("row %d: %w", at+1, mapped.Err)
		return mapped
	}
	return nil
}

func (t *stagedTable) encode(i int, values []row.Value, oids []uint32) ([][]byte, error) {
	args := make([][]byte, len(t.insert))
	for j := range args {
		v := row.IntOf(int64(i + 1))
		if j < len(values) {
			v = values[j]
		}
		if v.IsNull() {
			continue
		}
		text, err := t.source.encode(v, oids[j])
		if err != nil {
			return nil, t.Fault("", fmt.Errorf("row %d: column %s %w", i+1, t.insert[j], err))
		}
		args[j] = []byte(text)
	}
	return args, nil
}

// cannotStage turns an error into an error of staging, unless the database is only unavailable. hint replaces the
// server's hint.
func cannotStage(staged *scanners.StagedTable, err error, hint string) error {
	var e *scanners.Error
	if !errors.As(err, &e) || e.Code == scanners.CodeStage || e.Transient {
		return err
	}
	return staged.Fault(cmp.Or(hint, e.Hint), fmt.Errorf("cannot be staged: %w", e.Err))
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }
