package mysql

import (
	"fmt"
	"strconv"
	"time"

	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// converter makes values of the kind from what the driver returns: int64, float32, float64, or a []byte for everything else. Something
// else means that the column has become another.
func (d *dialect) converter(f field, kind row.Kind) sqldb.Convert {
	switch kind {
	case row.Bool:
		return convertBool
	case row.Int:
		switch {
		case f.kind == typeBit:
			return convertBits
		case f.kind == typeLongLong && f.unsigned():
			return convertUnsigned
		}
		return convertInt
	case row.Float:
		return convertFloat
	case row.Decimal:
		return convertDecimal
	case row.Date:
		return d.convertDate
	case row.Time:
		return d.convertTime
	case row.Duration:
		return convertDuration
	case row.JSON:
		return convertJSON
	case row.Bytes:
		return convertBytes
	default:
		if f.kind == typeString && f.flags&(flagEnum|flagSet) == 0 {
			return convertChar
		}
		return convertText
	}
}

// changed is the error of a column that has become another.
func changed(src any, kind row.Kind) error {
	return scanners.Changed(fmt.Errorf("was %s and comes as %s", kind, shown(src)))
}

// misfit is the error of a value that its column's kind does not hold.
func misfit(src any, kind row.Kind) error {
	return fmt.Errorf("holds %s, which is no %s", shown(src), kind)
}

func shown(src any) string {
	const most = 60
	b, ok := src.([]byte)
	if !ok {
		return fmt.Sprint(src)
	}
	if r := []rune(string(b)); len(r) > most {
		return strconv.Quote(string(r[:most]) + "…")
	}
	return strconv.Quote(string(b))
}

func convertBool(dst *row.Value, src any, _ *sqldb.Texts) error {
	switch v := src.(type) {
	case int64:
		*dst = row.BoolOf(v == 1)
		if v != 0 && v != 1 {
			return fmt.Errorf("holds %d, which is no bool: write it as column + 0", v)
		}
		return nil
	case []byte: // BIT(1)
		if len(v) != 1 || v[0] > 1 {
			return changed(src, row.Bool)
		}
		*dst = row.BoolOf(v[0] == 1)
		return nil
	}
	return changed(src, row.Bool)
}

func convertInt(dst *row.Value, src any, _ *sqldb.Texts) error {
	n, ok := src.(int64)
	if !ok {
		return changed(src, row.Int)
	}
	*dst = row.IntOf(n)
	return nil
}

// convertUnsigned is for BIGINT UNSIGNED, of which the driver makes a text where it is above the signed ones.
func convertUnsigned(dst *row.Value, src any, texts *sqldb.Texts) error {
	if b, ok := src.([]byte); ok && len(b) >= 19 {
		if _, err := strconv.ParseUint(string(b), 10, 64); err == nil {
			return fmt.Errorf("holds %s, which is more than an int does: write CAST(… AS DECIMAL(20))", b)
		}
	}
	return convertInt(dst, src, texts)
}

// convertBits reads BIT(n), whose bytes begin with the highest.
func convertBits(dst *row.Value, src any, _ *sqldb.Texts) error {
	b, ok := src.([]byte)
	if !ok || len(b) > 8 {
		return changed(src, row.Int)
	}
	var n uint64
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	if n > 1<<63-1 {
		return fmt.Errorf("holds bits for %d, which is more than an int does", n)
	}
	*dst = row.IntOf(int64(n))
	return nil
}

func convertFloat(dst *row.Value, src any, _ *sqldb.Texts) error {
	switch v := src.(type) {
	case float64:
		*dst = row.FloatOf(v)
	case float32:
		*dst = row.FloatOf(float64(v))
	case int64:
		*dst = row.FloatOf(float64(v))
	default:
		return changed(src, row.Float)
	}
	return nil
}

func convertDecimal(dst *row.Value, src any, texts *sqldb.Texts) error {
	switch v := src.(type) {
	case []byte:
		d, err := row.ParseDecimal(texts.Keep(v))
		if err != nil {
			return changed(src, row.Decimal)
		}
		*dst = d
	case int64:
		*dst = row.DecimalOf(v, 0)
	default:
		return changed(src, row.Decimal)
	}
	return nil
}

func convertText(dst *row.Value, src any, texts *sqldb.Texts) error {
	switch v := src.(type) {
	case []byte:
		*dst = row.TextOf(texts.Keep(v))
	case int64:
		*dst = row.TextOf(strconv.FormatInt(v, 10))
	case float64:
		*dst = row.TextOf(strconv.FormatFloat(v, 'g', -1, 64))
	default:
		return changed(src, row.Text)
	}
	return nil
}

// convertChar cuts the padding, which a server with PAD_CHAR_TO_FULL_LENGTH sends.
func convertChar(dst *row.Value, src any, texts *sqldb.Texts) error {
	if b, ok := src.([]byte); ok {
		for len(b) > 0 && b[len(b)-1] == ' ' {
			b = b[:len(b)-1]
		}
		src = b
	}
	return convertText(dst, src, texts)
}

func convertBytes(dst *row.Value, src any, texts *sqldb.Texts) error {
	b, ok := src.([]byte)
	if !ok {
		return changed(src, row.Bytes)
	}
	*dst = row.BytesOf(texts.Keep(b))
	return nil
}

func convertJSON(dst *row.Value, src any, texts *sqldb.Texts) error {
	b, ok := src.([]byte)
	if !ok {
		return changed(src, row.JSON)
	}
	*dst = row.JSONOf(texts.Keep(b))
	return nil
}

func (d *dialect) convertDate(dst *row.Value, src any, _ *sqldb.Texts) error {
	t, ok, err := parseTime(src, time.UTC)
	switch {
	case err != nil:
		return misfit(src, row.Date)
	case !ok:
		*dst = row.Value{}
	default:
		*dst = row.DateOf(t)
	}
	return nil
}

func (d *dialect) convertTime(dst *row.Value, src any, _ *sqldb.Texts) error {
	t, ok, err := parseTime(src, d.location)
	switch {
	case err != nil:
		return misfit(src, row.Time)
	case !ok:
		*dst = row.Value{}
	default:
		*dst = row.TimeOf(t)
	}
	return nil
}
