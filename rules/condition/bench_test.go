package condition_test

import (
	"testing"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"

	"tallyman/rules/condition"
	"tallyman/rules/row"
)

type benchRow struct {
	Qty   float64 `expr:"qty"`
	Sku   string  `expr:"sku"`
	Price float64 `expr:"price"`
}

var benchSources = []struct{ name, src string }{
	{"number", `qty < 0`},
	{"number-and-text", `qty < 0 and not (sku startsWith "TEST-")`},
	{"decimal-arithmetic", `price * qty + 0.5 > 100`},
}

// BenchmarkCondition evaluates one condition over one row: here with qty and price as decimals, and by expr's
// machine over floats, from a map and from a struct. expr has no decimals; so its float is the peer.
func BenchmarkCondition(b *testing.B) {
	columns := []row.Column{{Name: "qty", Kind: row.Decimal}, {Name: "sku", Kind: row.Text}, {Name: "price", Kind: row.Decimal}}
	r := row.New(columns)
	r.Values = []row.Value{row.DecimalOf(-300, 2), row.TextOf("TEST-42"), row.DecimalOf(1990, 2)}
	asMap := map[string]any{"qty": -3.0, "sku": "TEST-42", "price": 19.9}
	asStruct := benchRow{-3, "TEST-42", 19.9}
	for _, s := range benchSources {
		b.Run(s.name+"/tallyman", func(b *testing.B) {
			p, err := condition.Compile(s.src, columns)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Match(r); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(s.name+"/expr-map", func(b *testing.B) { runExpr(b, s.src, asMap) })
		b.Run(s.name+"/expr-struct", func(b *testing.B) { runExpr(b, s.src, asStruct) })
	}
}

func runExpr(b *testing.B, src string, env any) {
	b.Helper()
	p, err := expr.Compile(src, expr.Env(env), expr.AsBool())
	if err != nil {
		b.Fatal(err)
	}
	var machine vm.VM
	b.ReportAllocs()
	for b.Loop() {
		if _, err := machine.Run(p, env); err != nil {
			b.Fatal(err)
		}
	}
}
