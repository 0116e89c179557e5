package rules

import (
	"slices"

	"tallyman/rules/catalog"
	"tallyman/rules/condition"
	"tallyman/rules/row"
)

// Told is a kind of notice that a rule may make.
type Told struct {
	Rule      *Rule
	Type      string
	Warehouse string // "" where it depends on the row
}

// Reach is what the rules of a list may tell, and where.
type Reach struct {
	told       []Told
	types      map[string]*typeReach
	warehouses []string // that rules name, in their order
	anywhere   bool     // one depends on rows
}

// typeReach is where notices of a type may be made.
type typeReach struct {
	anywhere   bool
	warehouses map[string]bool
}

// NewReach finds out what rules may tell. Rules that are disabled count: somebody may enable them.
func NewReach(list []*Rule) *Reach {
	r := &Reach{types: map[string]*typeReach{}}
	constants := map[string]string{} // by expression; "" = it depends on the row
	for _, one := range list {
		if one.Placeholder == Nowhere {
			continue
		}
		scope := one.Scope
		if one.Placeholder != "" { // which scopes there will be, nobody knows
			scope = ""
		}
		expression := one.Notice.Warehouse
		warehouse, known := constants[expression]
		if !known {
			warehouse = constantWarehouse(expression)
			constants[expression] = warehouse
		}
		if expression == "" {
			warehouse = scope
		}
		r.told = append(r.told, Told{one, one.Notice.Type, warehouse})
		if one.NoData == PolicyAlert || one.OnError == PolicyAlert {
			if warehouse == "" {
				warehouse = scope // as AlertWarehouse
			}
			r.told = append(r.told, Told{one, catalog.NoData, warehouse}, Told{one, catalog.RuleFailed, warehouse})
		}
	}
	r.index()
	return r
}

// index makes what is asked for again and again.
func (r *Reach) index() {
	for i := range r.told {
		t := &r.told[i]
		of := r.types[t.Type]
		if of == nil {
			of = &typeReach{warehouses: map[string]bool{}}
			r.types[t.Type] = of
		}
		if t.Warehouse == "" {
			of.anywhere, r.anywhere = true, true
			continue
		}
		if !of.warehouses[t.Warehouse] {
			r.warehouses = append(r.warehouses, t.Warehouse)
		}
		of.warehouses[t.Warehouse] = true
	}
	slices.Sort(r.warehouses)
	r.warehouses = slices.Compact(r.warehouses)
}

// constantWarehouse is the warehouse of an expression that reads no column; "" where there is none.
func constantWarehouse(expression string) string {
	p, err := condition.Compile(expression, nil)
	if err != nil {
		return ""
	}
	v, err := p.Eval(row.New(nil))
	if name, ok := warehouseName(v); ok && err == nil {
		return name
	}
	return ""
}

// Any tells whether something of what the rules may tell is so.
func (r *Reach) Any(is func(t *Told) bool) bool {
	for i := range r.told {
		if is(&r.told[i]) {
			return true
		}
	}
	return false
}

// Warehouses are those that the rules name, in their order; all is true where one depends on rows, so that there may be any.
func (r *Reach) Warehouses() (names []string, all bool) {
	return slices.Clone(r.warehouses), r.anywhere
}

// EveryWarehouse is the warehouse of a subscription to all.
const EveryWarehouse = "*"

// Subscription says what is odd about a subscription: ofType tells whether a rule makes notices of the type, and inWarehouse whether one may make them there.
func (r *Reach) Subscription(typ, warehouse string) (ofType, inWarehouse bool) {
	of := r.types[typ]
	if of == nil {
		return false, false
	}
	return true, warehouse == EveryWarehouse || of.anywhere || of.warehouses[warehouse]
}
