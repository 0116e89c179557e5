package mysql

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"tallyman/rules/row"
	"tallyman/scanners"
)

var (
	//go:embed columns.sql
	columnsSQL string
	//go:embed find_table.sql
	findTableSQL string
)

// stage creates the tables. stage runs before the session's read-only transaction, which would not allow it.
func (t *transaction) stage(ctx context.Context, staged []scanners.StagedTable) (views, error) {
	var hidden []string
	if len(staged) > 0 {
		// In this mode, expressions of the catalogue can be used as they are, and a value that does not fit is an
		// error.
		if err := t.execute(ctx, "SET sql_mode = 'STRICT_ALL_TABLES'"); err != nil {
			return views{}, err
		}
		for i := range staged {
			s := stagedTable{StagedTable: &staged[i], tx: t}
			if err := s.set(ctx); err != nil {
				return views{}, t.cannotStage(&staged[i], err)
			}
			if s.hides {
				hidden = append(hidden, s.name)
			}
		}
		if err := t.execute(ctx, "SET sql_mode = CONCAT(@@GLOBAL.sql_mode, '"+sqlModes+"')"); err != nil {
			return views{}, err
		}
	}
	return t.loadViews(ctx, hidden)
}

// stagedTable is a table that is being staged.
type stagedTable struct {
	*scanners.StagedTable
	tx *transaction

	name  string
	hides bool // the database has a table of that name
	// quoted names of the columns that get a value from the rows; the last "numbered" of them count the rows
	insert   []string
	numbered int
	kinds    []row.Kind // of the columns that get a value from the rows
}

// set creates the table and fills it.
func (s *stagedTable) set(ctx context.Context) error {
	name, err := s.TableName()
	if err != nil {
		return err
	}
	if err := s.Check(); err != nil {
		return err
	}
	s.name = name
	database, found, err := s.tx.find(ctx, s.tx.dialect.database, name)
	if err != nil {
		return err
	}
	define := s.define
	if found != "" {
		s.name, s.hides = found, true
		columns, err := s.tx.texts(ctx, columnsSQL, database, found)
		if err != nil {
			return err
		}
		define = func() (string, error) { return s.defineLike(columns) }
	}
	definition, err := define()
	if err != nil {
		return err
	}
	if err := s.tx.execute(ctx, "CREATE TEMPORARY TABLE "+quoted(s.name)+" ("+definition+") ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4"); err != nil {
		return err
	}
	return s.fill(ctx)
}

// define returns the columns of a table that the database does not have.
func (s *stagedTable) define() (string, error) {
	if len(s.Columns) == 0 {
		return "", s.NoColumns()
	}
	var columns []string
	for _, c := range s.Columns {
		name := quoted(strings.ToLower(c.Name))
		s.insert, s.kinds = append(s.insert, name), append(s.kinds, c.Kind)
		columns = append(columns, name+" "+typeFor(c.Kind)+" NULL")
	}
	return strings.Join(columns, ", "), nil
}

func typeFor(kind row.Kind) string {
	switch kind {
	case row.Bool:
		return "tinyint(1)"
	case row.Int:
		return "bigint"
	case row.Float:
		return "double"
	case row.Decimal:
		return "decimal(65,20)"
	case row.Bytes:
		return "longblob"
	case row.Date:
		return "date"
	case row.Time:
		return "datetime(6)"
	case row.Duration:
		return "time(6)"
	case row.JSON:
		return "json"
	default:
		return "longtext"
	}
}

// tableColumn is a column of the database's own table, as columns.sql returns it.
type tableColumn struct {
	name, typ, required, initial, extra, generated, collation string
	hasInitial                                                bool // true: the column has a default, and initial "" means the empty text
}

// defineLike returns the columns of a table that the database has. Columns without values in the rows may be NULL.
func (s *stagedTable) defineLike(found [][]string) (string, error) {
	var all []tableColumn
	var names []string
	for _, f := range found {
		all = append(all, tableColumn{name: f[0], typ: f[1], required: f[2], initial: f[3], extra: strings.ToLower(f[4]), generated: f[5], collation: f[6], hasInitial: f[7] == "1"})
		names = append(names, f[0])
	}
	matches, err := s.Match(names)
	if err != nil {
		return "", err
	}
	for _, i := range matches {
		s.insert, s.kinds = append(s.insert, quoted(names[i])), append(s.kinds, kindOfType(all[i].typ))
	}
	var columns []string
	for i, c := range all {
		definition := quoted(c.name) + " " + c.typ
		if c.collation != "" {
			definition += " COLLATE " + c.collation
		}
		switch given := slices.Contains(matches, i); {
		case given && c.required == "1":
			definition += " NOT NULL"
		case given:
			definition += " NULL"
		case c.counts():
			definition += " NULL"
			s.insert = append(s.insert, quoted(c.name))
			s.numbered++
		case c.generated != "":
			definition += " AS (" + s.tx.expression(c.generated) + ")"
		default:
			definition += " NULL" + s.tx.initial(c)
		}
		columns = append(columns, definition)
	}
	return strings.Join(columns, ", "), nil
}

// counts tells whether the database numbers the column: with AUTO_INCREMENT, or from a sequence. A test must not
// advance the sequence.
func (c *tableColumn) counts() bool {
	return strings.Contains(c.extra, "auto_increment") || strings.Contains(strings.ToLower(c.initial), "nextval(")
}

// initial returns the DEFAULT of a column. MariaDB's catalogue has the default as an expression. MySQL's catalogue has
// a bare text, unless extra says that the default is an expression.
func (t *transaction) initial(c tableColumn) string {
	switch {
	case !c.hasInitial:
		return ""
	case t.maria:
		return " DEFAULT " + c.initial
	case strings.Contains(c.extra, "default_generated"):
		return " DEFAULT (" + t.expression(c.initial) + ")"
	case strings.HasPrefix(c.initial, "b'"):
		return ""
	default:
		return " DEFAULT '" + strings.ReplaceAll(strings.ReplaceAll(c.initial, `\`, `\\`), "'", "''") + "'"
	}
}

// expression returns an expression of the catalogue. MySQL puts a backslash before each quote there.
func (t *transaction) expression(text string) string {
	if t.maria {
		return text
	}
	return strings.ReplaceAll(text, `\'`, `'`)
}

// cannotStage turns an error into one of staging, unless the database is merely unavailable.
func (t *transaction) cannotStage(staged *scanners.StagedTable, err error) error {
	if mapped, ok := errors.AsType[*scanners.Error](err); ok && mapped.Code == scanners.CodeStage {
		return err
	}
	answer := t.dialect.Answer(err, scanners.CodeStage)
	if answer == nil || answer.Transient {
		return err
	}
	hint := answer.Hint
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok && (e.Number == 1044 || e.Number == 1142 || e.Number == 1227) {
		hint = "the source's user needs CREATE TEMPORARY TABLES on the database: GRANT CREATE TEMPORARY TABLES ON … TO …"
	}
	return staged.Fault(hint, fmt.Errorf("cannot be staged: %w", answer.Err))
}

// fill inserts the rows.
func (s *stagedTable) fill(ctx context.Context) error {
	if len(s.Rows) == 0 {
		return nil
	}
	stmt, err := s.tx.conn.PrepareContext(ctx, fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", quoted(s.name),
		strings.Join(s.insert, ", "), strings.TrimPrefix(strings.Repeat(", ?", len(s.insert)), ", ")))
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Close() }()
	for i, values := range s.Rows {
		args := make([]any, 0, len(s.insert))
		for j, v := range values {
			arg, err := s.tx.dialect.Bind(stored(v, s.kinds[j]))
			if err != nil {
				return s.Fault("", fmt.Errorf("row %d: column %s %w", i+1, s.insert[j], err))
			}
			args = append(args, arg)
		}
		for range s.numbered {
			args = append(args, int64(i+1))
		}
		if _, err := stmt.ExecContext(ctx, args...); err != nil {
			if answer := s.tx.dialect.Answer(err, scanners.CodeStage); answer != nil && !answer.Transient {
				return s.Fault("", fmt.Errorf("row %d: %w", i+1, answer.Err))
			}
			return err
		}
	}
	return nil
}

// stored converts a text to a value of the column's kind if the server would not do so by itself.
func stored(v row.Value, kind row.Kind) row.Value {
	if v.Kind() != row.Text {
		return v
	}
	switch kind {
	case row.Bool:
		if b, err := strconv.ParseBool(v.Text()); err == nil {
			return row.BoolOf(b)
		}
	case row.Time:
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05Z07:00"} {
			if t, err := time.Parse(layout, v.Text()); err == nil {
				return row.TimeOf(t)
			}
		}
	default:
	}
	return v
}

// kindOfType returns the kind of a column by the catalogue's name of its type. row.Null stands for kinds that need no
// conversion.
func kindOfType(typ string) row.Kind {
	name, _, _ := strings.Cut(typ, "(")
	switch {
	case typ == "tinyint(1)", typ == "bit(1)":
		return row.Bool
	case name == "datetime", name == "timestamp":
		return row.Time
	default:
		return row.Null
	}
}

//go:embed views.sql
var viewsSQL string

// relation is a table or view, or a name that may be one. Both names are in lower case.
type relation struct{ database, table string }

// views tells which views read the database's own tables in spite of staged ones.
type views struct {
	home        string              // the database of the staged tables
	hidden      []string            // tables of home that staged tables hide
	definitions map[relation]string // "" if the user may not see the definition
}

// loadViews reads the definitions of views, if any tables are hidden.
func (t *transaction) loadViews(ctx context.Context, hidden []string) (views, error) {
	v := views{home: strings.ToLower(t.dialect.database), definitions: map[relation]string{}}
	for _, table := range hidden {
		v.hidden = append(v.hidden, strings.ToLower(table))
	}
	if len(hidden) == 0 {
		return v, nil
	}
	found, err := t.texts(ctx, viewsSQL)
	for _, view := range found {
		v.definitions[relation{strings.ToLower(view[0]), strings.ToLower(view[1])}] = view[2]
	}
	return v, err
}

// bypass returns an error if the name is a view that reads a hidden table.
func (v *views) bypass(name relation) error {
	if name.database == v.home && slices.Contains(v.hidden, name.table) { // staged itself
		return nil
	}
	table, unknown := v.reads(name, map[relation]bool{})
	switch {
	case unknown:
		return &scanners.Error{
			Code: scanners.CodeStage, Hint: "GRANT SHOW VIEW ON … to the source's user, or stage " + name.table + " itself",
			Err: fmt.Errorf("%s is a view whose definition the source's user may not see; the view may read the database's own tables instead of the staged tables", name.table),
		}
	case table != "":
		return &scanners.Error{
			Code: scanners.CodeStage, Hint: "stage " + name.table + " itself",
			Err: fmt.Errorf("%s is a view that reads the database's own %s, not the staged one", name.table, table),
		}
	}
	return nil
}

// reads returns the hidden table that a view reads, directly or through other views. unknown is true if a definition is
// not visible. The server writes each table of a definition with its database.
func (v *views) reads(view relation, seen map[relation]bool) (table string, unknown bool) {
	definition, found := v.definitions[view]
	if !found || seen[view] {
		return "", false
	}
	if definition == "" {
		return "", true
	}
	seen[view] = true
	tokens := lexDefinition(definition)
	for i := 2; i < len(tokens); i++ {
		if !tokens[i-1].Is(".") {
			continue
		}
		r := relation{strings.ToLower(nameOf(tokens[i-2])), strings.ToLower(nameOf(tokens[i]))}
		if r.database == v.home && slices.Contains(v.hidden, r.table) {
			return r.table, false
		}
		if table, unknown := v.reads(r, seen); unknown || table != "" {
			return table, unknown
		}
	}
	return "", false
}
