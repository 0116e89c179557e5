package postgres

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/cockroachdb/apd/v3"
	"github.com/jackc/pgx/v5/pgtype"

	"tallyman/rules/row"
	"tallyman/scanners"
)

// encode writes the arguments as text, in the types that the database gave to the parameters.
func (p *prepared) encode(args map[string]any) ([][]byte, error) {
	values, err := scanners.Values(args, p.order)
	if err != nil {
		return nil, err
	}
	encoded := make([][]byte, len(values))
	for i, v := range values {
		if v.IsNull() {
			continue
		}
		text, err := p.source.encode(v, p.paramOIDs[i])
		if err != nil {
			return nil, scanners.ParamError(p.order[i], err, "write CAST(:"+p.order[i]+" AS …) in the probe if another type is meant")
		}
		encoded[i] = []byte(text)
	}
	return encoded, nil
}

// encode returns v as PostgreSQL reads a value of that type.
func (s *Source) encode(v row.Value, oid uint32) (string, error) {
	switch oid {
	case pgtype.Int2OID:
		return encodeInt(v, math.MinInt16, math.MaxInt16, "smallint")
	case pgtype.Int4OID:
		return encodeInt(v, math.MinInt32, math.MaxInt32, "integer")
	case pgtype.Int8OID:
		return encodeInt(v, math.MinInt64, math.MaxInt64, "bigint")
	case pgtype.Float4OID, pgtype.Float8OID:
		return encodeNumber(v, "double precision")
	case pgtype.NumericOID:
		return encodeNumber(v, "numeric")
	case pgtype.BoolOID:
		return encodeBool(v)
	case pgtype.TimestamptzOID:
		return encodeTime(v, time.UTC, "2006-01-02T15:04:05.999999Z", "timestamp")
	case pgtype.TimestampOID:
		return encodeTime(v, s.location, "2006-01-02T15:04:05.999999", "timestamp")
	case pgtype.DateOID:
		return encodeTime(v, s.location, time.DateOnly, "date")
	case pgtype.IntervalOID:
		return encodeInterval(v)
	}
	if v.Kind() == row.Text || v.Kind() == row.JSON {
		return v.Text(), nil // unchanged, even if it is not valid UTF-8: the database decides
	}
	if v.Kind() == row.Bytes {
		return `\x` + hex.EncodeToString([]byte(v.Text())), nil
	}
	return v.String(), nil
}

// number returns v as a number. A text is parsed.
func number(v row.Value) (row.Value, bool) {
	if v.Kind() == row.Text {
		parsed, err := row.ParseDecimal(v.Text())
		return parsed, err == nil
	}
	return v, v.Kind().IsNumber()
}

func encodeInt(v row.Value, least, most int64, name string) (string, error) {
	n, ok := number(v)
	if !ok {
		return "", isNo(v, name)
	}
	whole, err := n.Apd(new(apd.Decimal)).Int64()
	switch {
	case err != nil:
		return "", isNo(v, name)
	case whole < least || whole > most:
		return "", fmt.Errorf("is %d, which does not fit a %s", whole, name)
	}
	return strconv.FormatInt(whole, 10), nil
}

func encodeNumber(v row.Value, name string) (string, error) {
	n, ok := number(v)
	if !ok {
		return "", isNo(v, name)
	}
	return n.String(), nil
}

func encodeBool(v row.Value) (string, error) {
	switch v.Kind() {
	case row.Bool:
		return v.String(), nil
	case row.Text:
		if b, err := strconv.ParseBool(v.Text()); err == nil {
			return strconv.FormatBool(b), nil
		}
		fallthrough
	default:
		return "", isNo(v, "boolean")
	}
}

// encodeTime leaves a text unchanged. PostgreSQL reads more forms of times than this program should guess at.
func encodeTime(v row.Value, place *time.Location, layout, name string) (string, error) {
	switch v.Kind() {
	case row.Time:
		return v.Time().In(place).Format(layout), nil
	case row.Date:
		return v.Time().Format(layout), nil
	case row.Text:
		return v.Text(), nil
	default:
		return "", isNo(v, name)
	}
}

func encodeInterval(v row.Value) (string, error) {
	switch v.Kind() {
	case row.Duration:
		return strconv.FormatInt(v.Duration().Microseconds(), 10) + " microseconds", nil
	case row.Text:
		return v.Text(), nil
	default:
		return "", isNo(v, "interval")
	}
}

func isNo(v row.Value, name string) error {
	if v.Kind() == row.Bytes {
		return errors.New("is bytes, no " + name)
	}
	const most = 60
	text := v.String()
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return fmt.Errorf("is %q, no %s", text, name)
}
