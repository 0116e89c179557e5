package authoring

import (
	"slices"
	"strings"
	"testing"

	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/row"
	"tallyman/scanners"
)

var newTypes = catalog.Catalog{
	"REP_NOTICE": {Code: "REP_NOTICE", ID: 1, Name: "Replenish", Fields: map[string]catalog.Field{
		"bin": {Type: catalog.String, Required: true}, "sku": {Type: catalog.String}, "qty": {Type: catalog.Decimal},
	}},
	"ORDER_LATE": {Code: "ORDER_LATE", ID: 2, Name: "Late", Fields: map[string]catalog.Field{
		"order": {Type: catalog.String, Required: true}, "cut_off": {Type: catalog.Time, Required: true},
	}},
}

func tableOf(name, columns string, primary []string, unique ...[]string) scanners.Table {
	kinds := map[string]row.Kind{"int": row.Int, "text": row.Text, "decimal": row.Decimal, "time": row.Time, "bytes": row.Bytes, "none": row.Null}
	t := scanners.Table{Name: name, PrimaryKey: primary, Unique: unique}
	for c := range strings.SplitSeq(columns, ", ") {
		at := strings.LastIndex(c, " ")
		t.Columns = append(t.Columns, row.Column{Name: c[:at], Kind: kinds[c[at+1:]]})
	}
	return t
}

func TestWhatIsProposed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		table                                scanners.Table
		id, where, key, typ, warehouse, list string
	}{
		"primary key": {
			tableOf("bin_stock", "wh_id int, bin_code text, sku text, qty decimal", []string{"wh_id", "bin_code"}),
			"negative-bin-stock", "qty < 0", "wh_id bin_code", "REP_NOTICE", "wh_id", "bin=bin_code qty=qty sku=sku",
		},
		"unique index and minimum": {
			tableOf("wms.pick_faces", "whse text, bin text, qty_on_hand decimal, min_qty decimal", nil, []string{"bin"}),
			"pick-faces-below-minimum", "qty_on_hand < min_qty", "bin", "REP_NOTICE", "whse", "bin=bin qty=qty_on_hand sku=",
		},
		"times": {
			tableOf("orders", "order_no text, cut_off time, site_id int", []string{"order_no"}),
			"orders-check", "", "order_no", "ORDER_LATE", "site_id", "cut_off=cut_off order=order_no",
		},
		"nothing known":      {tableOf("log", "line text, raw bytes, odd none", nil), "log-check", "", "", "", "", ""},
		"a key that is cast": {tableOf("t", "a none, b text", []string{"a"}), "t-check", "", "", "", "", ""},
		"written names": {
			tableOf(`"Odd Names"`, `"Bin Code" text, "and" int, QTY int`, []string{`"Bin Code"`}),
			"negative-odd-names", "QTY < 0", "bin_code", "REP_NOTICE", "", "bin=bin_code qty=qty sku=",
		},
	} {
		r := propose(c.table, newTypes)
		var fields []string
		for _, f := range r.Fields {
			fields = append(fields, f.Name+"="+f.Expr)
		}
		got := []string{r.ID, r.Where, strings.Join(r.Key, " "), r.Type, r.Warehouse, strings.Join(fields, " ")}
		if want := []string{c.id, c.where, c.key, c.typ, c.warehouse, c.list}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// Whatever the names of a table, the file is a rule that loads.
func TestNewRulesLoad(t *testing.T) {
	t.Parallel()
	for _, table := range []scanners.Table{
		tableOf("bin_stock", "wh_id int, bin_code text, qty decimal", []string{"bin_code"}),
		tableOf(`"Line: #1 {x}"`, `"a: b" text, "no" text, "true" int`, []string{`"a: b"`}),
		tableOf(strings.Repeat("long_name_", 12), "id int", []string{"id"}),
		tableOf("`--`", "id int", []string{"id"}),
	} {
		r := propose(table, newTypes)
		r.Source, r.Sink, r.Type, r.Warehouse = "wms", "inbox", "REP_NOTICE", "'w1'"
		text, err := r.Text("../rule.schema.json")
		if err != nil {
			t.Fatal(err)
		}
		set := rules.LoadFile("f.yaml", text)
		if len(set.Rules) != 1 || len(set.Problems) > 0 {
			t.Errorf("%s: %v\n%s", table.Name, set.Problems, text)
		}
	}
}
