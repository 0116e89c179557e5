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
	Warehouse string // Empty means that the warehouse depends on the row.
}

// Reach is the set of notices that the rules of a list may make, by type and warehouse. It shows, for example, which
// subscriptions can never get a notice.
type Reach struct {
	kinds      []Told
	types      map[string]*typeReach
	warehouses []string // The warehouses that rules name, sorted.
	anywhere   bool     // The warehouse of at least one kind of notice depends on the row.
}

// typeReach holds the warehouses in which notices of one type may be made.
type typeReach struct {
	anywhere   bool // The warehouse depends on the row, so every warehouse is possible.
	warehouses map[string]bool
}

// NewReach collects the notices that the rules may make. Disabled rules count, because somebody may enable them.
func NewReach(list []*Rule) *Reach {
	r := &Reach{types: map[string]*typeReach{}}
	constants := map[string]string{} // warehouse by expression; "" means that the warehouse depends on the row
	for _, one := range list {
		if one.Placeholder == Nowhere {
			continue
		}
		scope := one.Scope
		if one.Placeholder != "" { // the scopes of the rule are not known yet
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
		r.kinds = append(r.kinds, Told{one, one.Notice.Type, warehouse})
		if one.NoData == PolicyAlert || one.OnError == PolicyAlert {
			if warehouse == "" {
				warehouse = scope // as AlertWarehouse does
			}
			r.kinds = append(r.kinds, Told{one, catalog.NoData, warehouse}, Told{one, catalog.RuleFailed, warehouse})
		}
	}
	r.index()
	return r
}

// index fills the fields that answer questions, so that no question walks over all kinds.
func (r *Reach) index() {
	for i := range r.kinds {
		t := &r.kinds[i]
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

// constantWarehouse returns the warehouse that an expression without columns gives. It returns "" for an expression
// that reads a column or has no warehouse as its value.
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

// Any tells whether the function is true for at least one kind of notice that the rules may make.
func (r *Reach) Any(is func(t *Told) bool) bool {
	for i := range r.kinds {
		if is(&r.kinds[i]) {
			return true
		}
	}
	return false
}

// Warehouses returns the warehouses that the rules name, sorted. all is true where the warehouse of at least one kind
// of notice depends on the row. Then any warehouse is possible.
func (r *Reach) Warehouses() (names []string, all bool) {
	return slices.Clone(r.warehouses), r.anywhere
}

// EveryWarehouse stands in a subscription for all warehouses.
const EveryWarehouse = "*"

// Subscription tells whether a subscription can ever get a notice. ofType is true where a rule makes notices of the
// type. inWarehouse is true where a rule may make such notices in the warehouse.
func (r *Reach) Subscription(typ, warehouse string) (ofType, inWarehouse bool) {
	of := r.types[typ]
	if of == nil {
		return false, false
	}
	return true, warehouse == EveryWarehouse || of.anywhere || of.warehouses[warehouse]
}
