package postgres

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"unsafe"

	"tallyman/rules/row"
)

const uuidLength = 36

// alias returns the bytes as a string without a copy; it is valid until the driver reads on.
func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) } //nolint:gosec // a Row says how long its texts live

// want refuses a value that does not have the length of its type.
func want(src []byte, length int) error {
	if len(src) != length {
		return fmt.Errorf("the database sent %d bytes instead of %d", len(src), length)
	}
	return nil
}

func decodeBool(_ *cursor, dst *row.Value, src []byte) error {
	if err := want(src, 1); err != nil {
		return err
	}
	*dst = row.BoolOf(src[0] != 0)
	return nil
}

func decodeInt2(_ *cursor, dst *row.Value, src []byte) error {
	if err := want(src, 2); err != nil {
		return err
	}
	*dst = row.IntOf(int64(int16(binary.BigEndian.Uint16(src)))) //nolint:gosec // two's complement
	return nil
}

func decodeInt4(_ *cursor, dst *row.Value, src []byte) error {
	if err := want(src, 4); err != nil {
		return err
	}
	*dst = row.IntOf(int64(int32(binary.BigEndian.Uint32(src)))) //nolint:gosec // two's complement
	return nil
}

func decodeInt8(_ *cursor, dst *row.Value, src []byte) error {
	if err := want(src, 8); err != nil {
		return err
	}
	*dst = row.IntOf(int64(binary.BigEndian.Uint64(src))) //nolint:gosec // two's complement
	return nil
}

func decodeOID(_ *cursor, dst *row.Value, src []byte) error {
	if err := want(src, 4); err != nil {
		return err
	}
	*dst = row.IntOf(int64(binary.BigEndian.Uint32(src)))
	return nil
}

func decodeFloat4(_ *cursor, dst *row.Value, src []byte) error {
	if err := want(src, 4); err != nil {
		return err
	}
	*dst = row.FloatOf(float64(math.Float32frombits(binary.BigEndian.Uint32(src))))
	return nil
}

func decodeFloat8(_ *cursor, dst *row.Value, src []byte) error {
	if err := want(src, 8); err != nil {
		return err
	}
	*dst = row.FloatOf(math.Float64frombits(binary.BigEndian.Uint64(src)))
	return nil
}

func decodeText(_ *cursor, dst *row.Value, src []byte) error {
	*dst = row.TextOf(alias(src))
	return nil
}

// decodeChar cuts the padding of CHAR(n), which PostgreSQL does not count when it compares either.
func decodeChar(_ *cursor, dst *row.Value, src []byte) error {
	*dst = row.TextOf(alias(bytes.TrimRight(src, " ")))
	return nil
}

func decodeBytes(_ *cursor, dst *row.Value, src []byte) error {
	*dst = row.BytesOf(alias(src))
	return nil
}

func decodeJSON(_ *cursor, dst *row.Value, src []byte) error {
	*dst = row.JSONOf(alias(src))
	return nil
}

func decodeJSONB(_ *cursor, dst *row.Value, src []byte) error {
	if len(src) == 0 || src[0] != 1 {
		return fmt.Errorf("the database sent a jsonb of an unknown version")
	}
	*dst = row.JSONOf(alias(src[1:]))
	return nil
}

// decodeUUID writes the usual form into the scan's scratch.
func decodeUUID(c *cursor, dst *row.Value, src []byte) error {
	if err := want(src, 16); err != nil {
		return err
	}
	start := len(c.scratch)
	out := c.scratch[start : start+uuidLength]
	hex.Encode(out[0:8], src[0:4])
	hex.Encode(out[9:13], src[4:6])
	hex.Encode(out[14:18], src[6:8])
	hex.Encode(out[19:23], src[8:10])
	hex.Encode(out[24:36], src[10:16])
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	c.scratch = c.scratch[:start+uuidLength]
	*dst = row.TextOf(alias(out))
	return nil
}
