package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"tallyman/rules/row"
	"tallyman/scanners"
)

var decodable = []uint32{
	pgtype.BoolOID, pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.OIDOID, pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID,
	pgtype.TextOID, pgtype.BPCharOID, pgtype.ByteaOID, pgtype.DateOID, pgtype.TimestampOID, pgtype.IntervalOID, pgtype.UUIDOID, pgtype.JSONOID,
	pgtype.JSONBOID, pgtype.InetOID,
}

// FuzzDecode gives every decoder bytes that no server would send. The decoder returns an error or a value of its kind,
// and a decoder of a fixed size accepts no other size.
func FuzzDecode(f *testing.F) {
	f.Add(uint8(7), []byte{0, 2, 0, 0, 0x40, 0, 0, 2, 0, 12, 0x13, 0x88})
	f.Add(uint8(7), []byte{0, 1, 0x7f, 0xff, 0, 0, 0, 0, 0, 1})
	f.Add(uint8(13), []byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0})
	f.Add(uint8(14), []byte("0123456789abcdef"))
	f.Add(uint8(16), []byte{1, '{', '}'})
	f.Fuzz(func(t *testing.T, which uint8, src []byte) {
		dt := typeOf(decodable[int(which)%len(decodable)])
		c := &cursor{scratch: make([]byte, 0, uuidLength)}
		var v row.Value
		if err := dt.decode(c, &v, src); err != nil {
			return
		}
		if v.Kind() != dt.kind {
			t.Fatalf("%x became %s, not %s", src, v.Kind(), dt.kind)
		}
		if text := v.String(); v.Kind() == row.Decimal && len(text) < 1000 {
			if _, err := row.ParseDecimal(text); err != nil {
				t.Fatalf("%x became %s: %v", src, text, err)
			}
		}
	})
}

// TestNoAllocation decodes a row of the common types again and again.
func TestNoAllocation(t *testing.T) {
	oids := []uint32{pgtype.Int8OID, pgtype.NumericOID, pgtype.TextOID, pgtype.TimestamptzOID, pgtype.UUIDOID, pgtype.DateOID, pgtype.BPCharOID, pgtype.BoolOID}
	values := [][]byte{
		{0, 0, 0, 0, 0, 0, 0, 7},
		{0, 2, 0, 0, 0x40, 0, 0, 2, 0, 12, 0x13, 0x88},
		[]byte("SKU-7"),
		{0, 2, 0xb4, 0, 0, 0, 0, 7},
		[]byte("0123456789abcdef"),
		{0, 0, 0x25, 7},
		[]byte("A-01   "),
		{1},
	}
	p := &prepared{source: &Source{limits: scanners.Limits{}.WithDefaults()}}
	for _, oid := range oids {
		p.decoders = append(p.decoders, typeOf(oid).decode)
		p.columns = append(p.columns, row.Column{Kind: typeOf(oid).kind})
	}
	c := &cursor{row: row.New(p.columns), scratch: make([]byte, 0, uuidLength*len(oids))}
	allocs := testing.AllocsPerRun(1000, func() {
		if err := p.decode(c, values); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations a row", allocs)
	}
	if got := c.row.Values[1].String(); got != "-12.50" {
		t.Errorf("decoded %s", got)
	}
}
