package postgres

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"tallyman/scanners"
)

// mapError turns an error into a scanners.Error. errors.Is finds the error of an ended context. mapError keeps only the
// text of a driver's error, because the error itself holds the configuration. sql is the text that was sent, or "" if
// the error must not name a place in it.
func (s *Source) mapError(ctx context.Context, err error, sql string) *scanners.Error {
	if e, ok := errors.AsType[*tooLargeError](err); ok {
		return s.tooLarge(e)
	}
	var pgErr *pgconn.PgError
	answered := errors.As(err, &pgErr)
	switch cause := ctx.Err(); {
	case errors.Is(cause, context.Canceled) || errors.Is(err, context.Canceled):
		return &scanners.Error{Code: scanners.CodeFailed, Transient: true, Err: context.Canceled}
	case answered:
		return serverError(pgErr, sql)
	case isConnectError(err):
		return s.unreachable(err)
	case errors.Is(cause, context.DeadlineExceeded) || errors.Is(err, context.DeadlineExceeded):
		return &scanners.Error{
			Code: scanners.CodeTimeout, Transient: true,
			Err: fmt.Errorf("the database did not answer in time: %w", context.DeadlineExceeded),
		}
	}
	return s.unreachable(err)
}

// tooLarge returns the error of a message that the gate has refused without knowing the column.
func (s *Source) tooLarge(e *tooLargeError) *scanners.Error {
	if e.row {
		return s.limits.RowError(e.size)
	}
	return &scanners.Error{
		Code: scanners.CodeTooLarge, Hint: "the server's error text may repeat a value of a row: shorten that value in the probe",
		Err: fmt.Errorf("the server sent a message of %d bytes; the source accepts at most %d", e.size, max(s.limits.Row, leastMessage)),
	}
}

func isConnectError(err error) bool {
	var connect *pgconn.ConnectError
	return errors.As(err, &connect)
}

func (s *Source) unreachable(err error) *scanners.Error {
	// The driver has one line for each attempt, with TLS and without. If nobody listens, both are the same.
	lines := slices.Compact(strings.Split(err.Error(), "\n"))
	text := strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
	if s.password != "" {
		text = strings.ReplaceAll(text, s.password, "***")
	}
	return &scanners.Error{Code: scanners.CodeUnreachable, Transient: true, Err: errors.New(text)}
}

// serverError judges an error by the class of its SQLSTATE (appendix A of PostgreSQL's documentation).
func serverError(e *pgconn.PgError, sql string) *scanners.Error {
	if e.Code == "08P01" { // the result has another number of columns than the requested formats
		return scanners.Changed(message(e, sql))
	}
	mapped := &scanners.Error{Code: scanners.CodeFailed, Hint: e.Hint, Err: message(e, sql)}
	switch class := e.Code[:min(2, len(e.Code))]; {
	case e.Code == "57014":
		mapped.Code, mapped.Transient = scanners.CodeTimeout, true
	case e.Code == "25006", e.Code == "25001": // 25001: the probe tried to leave the read-only mode
		mapped.Code = scanners.CodeReadOnly
		mapped.Hint = "a probe may only read; perhaps the probe calls a function that writes"
	case e.Code == "42P18", e.Code == "42P08":
		mapped.Code = scanners.CodeStatement
		mapped.Hint = "say which type is meant: CAST(:name AS bigint)"
	case e.Code == "42501":
		mapped.Code = scanners.CodeStatement
		mapped.Hint = "the source's user needs SELECT on what the probe reads"
	case class == "42", class == "26", e.Code == "0A000":
		mapped.Code = scanners.CodeStatement
	case class == "08", class == "28", class == "3D", class == "57", e.Code == "53300":
		mapped.Code, mapped.Transient = scanners.CodeUnreachable, true
	case class == "40", class == "53", class == "55", class == "58":
		mapped.Transient = true
	}
	return mapped
}

// message returns the server's text, with the line of the probe that it points at.
func message(e *pgconn.PgError, sql string) error {
	text := e.Message
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if runes := []rune(sql); e.Position > 0 && int(e.Position) <= len(runes) {
		text += fmt.Sprintf(" (line %d of the probe)", 1+strings.Count(string(runes[:e.Position-1]), "\n"))
	}
	return fmt.Errorf("%s [SQLSTATE %s]", text, e.Code)
}

var boundParameter = regexp.MustCompile(`portal parameter \$(\d+)`)

// paramError names the parameter if the server could not read its value.
func (p *prepared) paramError(mapped *scanners.Error, err error) *scanners.Error {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return mapped
	}
	found := boundParameter.FindStringSubmatch(pgErr.Where)
	if found == nil {
		return mapped
	}
	n, err := strconv.Atoi(found[1])
	if err != nil || n < 1 || n > len(p.order) {
		return mapped
	}
	return scanners.ParamError(p.order[n-1], fmt.Errorf("cannot be read: %w", mapped.Err), mapped.Hint)
}
