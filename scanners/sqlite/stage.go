package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite"

	"tallyman/rules/row"
	"tallyman/scanners"
)

// stagedTable is a table that is being staged.
type stagedTable struct {
	*scanners.StagedTable
	conn     *connection
	location *time.Location

	name     string   // in lower case
	insert   []string // columns that get a value from the rows; the last "numbered" of them count the rows
	numbered int
	kinds    []row.Kind // of the columns that get a value from the rows
	forms    []timeForm // of the same columns; used for times only
}

// stage creates the table and fills it.
func (x *session) stage(ctx context.Context, staged *scanners.StagedTable) error {
	t := stagedTable{StagedTable: staged, conn: x.conn, location: x.source.location}
	var err error
	if t.name, err = t.TableName(); err != nil {
		return err
	}
	t.name = strings.ToLower(t.name)
	if err := t.Check(); err != nil {
		return err
	}
	found, err := t.conn.tableColumns(ctx, t.name)
	if err != nil {
		return err
	}
	var create string
	if len(found) > 0 {
		x.hidden[t.name] = true
		create, err = t.defineLike(ctx, found)
	} else {
		create, err = t.define()
	}
	if err != nil {
		return err
	}
	if err := t.conn.execute(ctx, create); err != nil {
		return err
	}
	return t.fill(ctx)
}

// define returns the SQL for a table that the file does not have.
func (t *stagedTable) define() (string, error) {
	if len(t.Columns) == 0 {
		return "", t.NoColumns()
	}
	var columns []string
	for _, c := range t.Columns {
		declared, err := typeFor(c.Kind)
		if err != nil {
			return "", t.Fault("give it as a number of seconds", fmt.Errorf("column %s %w", c.Name, err))
		}
		name := strings.ToLower(c.Name)
		t.add(name, declared, timeForm{})
		columns = append(columns, quoted(name)+" "+declared)
	}
	return "CREATE TEMP TABLE " + quoted(t.name) + " (" + strings.Join(columns, ", ") + ")", nil
}

// typeFor returns a declared type from which declaredKind makes the same kind.
func typeFor(kind row.Kind) (string, error) {
	switch kind {
	case row.Bool:
		return "BOOLEAN", nil
	case row.Int:
		return "BIGINT", nil
	case row.Float:
		return "DOUBLE", nil
	case row.Decimal:
		return "DECIMAL", nil
	case row.Bytes:
		return "BLOB", nil
	case row.Date:
		return "DATE", nil
	case row.Time:
		return "TIMESTAMP", nil
	case row.JSON:
		return "JSON", nil
	case row.Duration:
		return "", errors.New("is a duration, which SQLite does not have")
	default:
		return "TEXT", nil
	}
}

func (t *stagedTable) add(name, declared string, form timeForm) {
	t.insert = append(t.insert, name)
	t.kinds = append(t.kinds, declaredKind(declared))
	t.forms = append(t.forms, form)
}

// defineLike returns the SQL for a table that the file has, with the columns that were found. Columns without values in
// the rows may be NULL.
func (t *stagedTable) defineLike(ctx context.Context, found []tableColumn) (string, error) {
	var names []string
	for _, column := range found {
		names = append(names, column.name)
	}
	matches, err := t.Match(names)
	if err != nil {
		return "", err
	}
	for _, i := range matches {
		form, err := t.timeForm(ctx, found[i])
		if err != nil {
			return "", err
		}
		t.add(names[i], found[i].declared, form)
	}
	var columns []string
	for i, column := range found {
		definition := quoted(column.name) + " " + column.declared + column.collation
		switch given := slices.Contains(matches, i); {
		case given && column.required:
			definition += " NOT NULL"
		case given:
		case column.numbered:
			definition += " NOT NULL"
			t.insert = append(t.insert, column.name)
			t.numbered++
		case column.generated != "":
			definition += " AS " + column.generated
		case column.initial != "":
			definition += " DEFAULT (" + column.initial + ")"
		}
		columns = append(columns, definition)
	}
	return "CREATE TEMP TABLE " + quoted(t.name) + " (" + strings.Join(columns, ", ") + ")", nil
}

// timeForm returns how the file's column writes its times, so that the staged column can do the same.
func (t *stagedTable) timeForm(ctx context.Context, column tableColumn) (timeForm, error) {
	if declaredKind(column.declared) != row.Time {
		return timeForm{}, nil
	}
	form, _, err := newTimeColumn(sqlite.ColumnInfo{OriginName: column.name, TableName: t.name, DatabaseName: "main"}).form(ctx, t.conn)
	return form, err
}

// fill inserts the rows.
func (t *stagedTable) fill(ctx context.Context) error {
	values := " DEFAULT VALUES"
	if len(t.insert) > 0 {
		var names []string
		for _, name := range t.insert {
			names = append(names, quoted(name))
		}
		values = " (" + strings.Join(names, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(names)-1) + ")"
	}
	insert := "INSERT INTO temp." + quoted(t.name) + values //nolint:gosec // quoted names; the values are bound
	stmt, err := t.conn.sql.PrepareContext(ctx, insert)
	if err != nil {
		return mapError(ctx, err, scanners.CodeFailed)
	}
	defer func() { _ = stmt.Close() }()
	for i, values := range t.Rows {
		args := make([]any, 0, len(t.insert))
		for j, v := range values {
			arg, ok := t.stored(j, v)
			if !ok {
				return t.Fault("", fmt.Errorf("row %d: column %s is %q, which is no %s", i+1, t.insert[j], v, t.kinds[j]))
			}
			args = append(args, arg)
		}
		for range t.numbered {
			args = append(args, int64(i+1))
		}
		if _, err := stmt.ExecContext(ctx, args...); err != nil {
			mapped := mapError(ctx, err, scanners.CodeFailed)
			mapped.Err = fmt.Errorf("row %d: %w", i+1, mapped.Err)
			return mapped
		}
	}
	return nil
}

// stored converts a value to what the column stores. stored returns false if a scan would not read it back as the
// column's kind.
func (t *stagedTable) stored(j int, v row.Value) (any, bool) {
	kind := t.kinds[j]
	if v.IsNull() {
		return nil, true
	}
	if v.Kind() == row.Text && kind != row.Text {
		var read row.Value
		var ok bool
		switch kind {
		case row.Int, row.Float:
			read, ok = fromText(v.Text(), row.Decimal, t.location)
		default:
			read, ok = fromText(v.Text(), kind, t.location)
		}
		if !ok && kind != row.Null {
			return nil, false
		}
		if ok {
			v = read
		}
	}
	var arg any
	switch {
	case v.Kind() == row.Duration:
		return nil, false
	case kind == row.Time && v.Kind() == row.Time:
		arg = t.forms[j].bind(v.Time(), t.location)
	case kind == row.Time && v.Kind() == row.Date:
		arg = t.forms[j].bind(row.At(v.Time(), t.location), t.location)
	case kind == row.Date && v.Kind() == row.Time:
		arg = v.Time().In(t.location).Format(time.DateOnly)
	case v.Kind() == row.Time:
		arg = timeForm{}.bind(v.Time(), t.location)
	case kind == row.Text && v.Kind() != row.Bytes:
		arg = v.String()
	default:
		arg = bindable(v)
	}
	var scratch row.Value
	return arg, kind == row.Null || convert(&scratch, arg, kind, t.location) || kind == row.Float && v.Kind().IsNumber()
}

// cannotStage turns an error into one of staging, unless it is transient.
func cannotStage(staged *scanners.StagedTable, err error) error {
	var e *scanners.Error
	if !errors.As(err, &e) || e.Code == scanners.CodeStage || e.Transient {
		return err
	}
	return staged.Fault(e.Hint, fmt.Errorf("cannot be staged: %w", e.Err))
}
