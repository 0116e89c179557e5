package api

import (
	"context"
	"net/http"
	"strings"

	"tallyman/internal/auth"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

// OwnWarehouse is the warehouse that was asked for, or the only one that the caller has.
func OwnWarehouse(who *auth.Identity, name, warehouse string) (string, *wire.Problem) {
	switch {
	case warehouse != "":
		return warehouse, InWarehouse(who, warehouse)
	case len(who.Warehouses) == 1 && !who.Everywhere():
		return who.Warehouses[0], nil
	}
	prob := MissingParameter(name)
	if !who.Everywhere() {
		prob.Detail += Yours(who.Warehouses)
	}
	return "", prob
}

// InWarehouse is nil where the caller may do things in the warehouse.
func InWarehouse(who *auth.Identity, warehouse string) *wire.Problem {
	if who.InWarehouse(warehouse) {
		return nil
	}
	if warehouse == auth.AllWarehouses {
		return Denied(wire.CodeWarehouseDenied, "this is about all warehouses"+Yours(who.Warehouses))
	}
	return Denied(wire.CodeWarehouseDenied, "warehouse "+policy.Quote(warehouse)+" is not yours"+Yours(who.Warehouses))
}

// InScope is nil where the caller may do things to a rule's scope, nil for all of them. A scope is a warehouse as far as tokens go: one that is
// not for all warehouses is for the scopes of their names.
func InScope(ctx context.Context, scope *string) *wire.Problem {
	who := auth.From(ctx)
	switch {
	case who.Everywhere():
		return nil
	case scope == nil:
		return Denied(wire.CodeWarehouseDenied, "this is about all scopes of the rule; name the scope"+Yours(who.Warehouses))
	}
	return InWarehouse(who, *scope)
}

// Denied says that the caller asks for what is not his.
func Denied(code wire.Code, detail string) *wire.Problem {
	p := wire.NewProblem(http.StatusForbidden, code, detail)
	p.Challenge = insufficient
	return p
}

// Yours names what the caller has; he knows it anyway.
func Yours(list []string) string {
	if len(list) == 0 {
		return "; your token has none"
	}
	return "; your token has " + quoteList(list)
}

// quoteList shows some of a list.
func quoteList(list []string) string {
	const most = 10
	if len(list) > most {
		return strings.Join(list[:most], ", ") + ", …"
	}
	return strings.Join(list, ", ")
}
