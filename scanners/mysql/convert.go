package mysql

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/cockroachdb/apd/v3"

	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// converter returns the conversion to this kind. The driver returns int64, float32, float64, or a []byte for everything
// else. Any other type means that the column has changed.
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

// changed returns the error of a column that has changed.
func changed(src any, kind row.Kind) error {
	return scanners.Changed(fmt.Errorf("described as %s, but the server sent %s", kind, shown(src)))
}

// misfit returns the error of a value that does not belong to the kind of its column.
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

// convertUnsigned converts BIGINT UNSIGNED. For values above the signed range, the driver returns a text.
func convertUnsigned(dst *row.Value, src any, texts *sqldb.Texts) error {
	if b, ok := src.([]byte); ok && len(b) >= 19 {
		if _, err := strconv.ParseUint(string(b), 10, 64); err == nil {
			return fmt.Errorf("holds %s, which is larger than an int can hold: write CAST(… AS DECIMAL(20))", b)
		}
	}
	return convertInt(dst, src, texts)
}

// convertBits converts BIT(n). The highest byte comes first.
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
		return fmt.Errorf("holds bits for %d, which is larger than an int can hold", n)
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

// convertChar removes the padding that a server with PAD_CHAR_TO_FULL_LENGTH sends.
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

// parseTime reads 2006-01-02, optionally followed by 15:04:05 and a fraction. The result there is false if year, month
// and day are all 0.
func parseTime(src any, location *time.Location) (t time.Time, there bool, err error) {
	b, ok := src.([]byte)
	if !ok || len(b) < 10 || b[4] != '-' || b[7] != '-' {
		return t, false, errTimeText
	}
	year, month, day := digits(b[0:4]), digits(b[5:7]), digits(b[8:10])
	var hour, minute, second, nano int
	if rest := b[10:]; len(rest) > 0 {
		if len(rest) < 9 || rest[3] != ':' || rest[6] != ':' {
			return t, false, errTimeText
		}
		hour, minute, second = digits(rest[1:3]), digits(rest[4:6]), digits(rest[7:9])
		nano = fraction(rest[9:])
	}
	if year|month|day|hour|minute|second|nano < 0 {
		return t, false, errTimeText
	}
	if year == 0 && month == 0 && day == 0 {
		return t, false, nil
	}
	if hour > 23 || minute > 59 || second > 59 || time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Day() != day || month == 0 || month > 12 {
		return t, false, errTimeText // 2026-00-01, 2026-02-31: some sql_modes allow such dates
	}
	return time.Date(year, time.Month(month), day, hour, minute, second, nano, location), true, nil
}

var errTimeText = errors.New("not a date")

// digits reads a number without a sign. digits returns -1 if b is not a number.
func digits(b []byte) int {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// fraction reads .25 as nanoseconds. An empty text is 0. fraction returns -1 if b is not a fraction.
func fraction(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	if b[0] != '.' || len(b) > 10 {
		return -1
	}
	n := digits(b[1:])
	for range 10 - len(b) {
		n *= 10
	}
	return n
}

// convertDuration reads TIME: 08:30:00, -838:59:59.000001.
func convertDuration(dst *row.Value, src any, _ *sqldb.Texts) error {
	b, ok := src.([]byte)
	if !ok {
		return changed(src, row.Duration)
	}
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	at := 0
	for at < len(b) && b[at] != ':' {
		at++
	}
	if at == 0 || at > 3 || len(b) < at+6 || b[at+3] != ':' {
		return changed(src, row.Duration)
	}
	hours, minutes, seconds, nano := digits(b[:at]), digits(b[at+1:at+3]), digits(b[at+4:at+6]), fraction(b[at+6:])
	if hours|minutes|seconds|nano < 0 {
		return changed(src, row.Duration)
	}
	d := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute + time.Duration(seconds)*time.Second + time.Duration(nano)
	if negative {
		d = -d
	}
	*dst = row.DurationOf(d)
	return nil
}

// drifting adapts convert to a statement with parameters. The type of an expression may depend on a parameter, and the
// server had to guess the type while there were no values. drifting accepts a number of another type if the number fits
// the kind of the column exactly. For a float column, the number may also be rounded.
func drifting(convert sqldb.Convert, kind row.Kind) sqldb.Convert {
	return func(dst *row.Value, src any, texts *sqldb.Texts) error {
		err := convert(dst, src, texts)
		if e, ok := errors.AsType[*scanners.Error](err); !ok || e.Code != scanners.CodeChanged {
			return err
		}
		if drifted(dst, src, kind) {
			return nil
		}
		return &scanners.Error{
			Code: scanners.CodeFailed, Hint: "its type depends on the value of a parameter: write CAST(:name AS SIGNED), DECIMAL(20,6), DOUBLE, CHAR or DATETIME(6)",
			Err: misfit(src, kind),
		}
	}
}

// drifted converts a number of another form to the kind. drifted returns false if src is no number, or does not fit the
// kind. Only a conversion to a float may round.
func drifted(dst *row.Value, src any, kind row.Kind) bool {
	var text string
	switch v := src.(type) {
	case []byte:
		text = string(v)
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	case float32:
		text = strconv.FormatFloat(float64(v), 'f', -1, 64)
	default:
		return false
	}
	switch kind {
	case row.Float:
		f, err := strconv.ParseFloat(text, 64)
		*dst = row.FloatOf(f)
		return err == nil
	case row.Decimal:
		d, err := row.ParseDecimal(text)
		*dst = d
		return err == nil
	case row.Int:
		d, err := row.ParseDecimal(text)
		if err != nil {
			return false
		}
		n, err := d.Apd(new(apd.Decimal)).Int64()
		*dst = row.IntOf(n)
		return err == nil
	default:
		return false
	}
}

// timeForm is a time in the form that the server reads, in the session's zone.
const timeForm = "2006-01-02 15:04:05.000000"

// Bind converts the value of a parameter to the value that the driver sends. Decimals, dates and times are sent as
// text, because the driver has no better form for them.
func (d *dialect) Bind(v row.Value) (any, error) {
	switch v.Kind() {
	case row.Date:
		return v.Time().Format(time.DateOnly), nil
	case row.Time:
		return v.Time().In(d.location).Format(timeForm), nil
	case row.Duration:
		return durationText(v.Duration()), nil
	default:
		return sqldb.Plain(v), nil
	}
}

// durationText returns a duration in the form of TIME.
func durationText(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	return fmt.Sprintf("%s%02d:%02d:%02d.%06d", sign, d/time.Hour, d/time.Minute%60, d/time.Second%60, d/time.Microsecond%1_000_000)
}
