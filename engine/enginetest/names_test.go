package enginetest_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"tallyman/engine/enginetest"
)

// A test fails a method of the ledger in memory by its name, so each method must give Fail its own name.
func TestEachMethodGivesFailItsName(t *testing.T) {
	t.Parallel()
	l := enginetest.NewLedger()
	var asked string
	l.Fail = func(method string) error {
		asked = method
		return errors.New("away")
	}
	named := 0
	value := reflect.ValueOf(l)
	for i := range value.NumMethod() {
		method := value.Type().Method(i)
		call := value.Method(i)
		if call.Type().NumIn() == 0 || call.Type().In(0) != reflect.TypeFor[context.Context]() {
			continue // The method is for tests, and does not fail.
		}
		args := []reflect.Value{reflect.ValueOf(t.Context())}
		for k := 1; k < call.Type().NumIn(); k++ {
			args = append(args, reflect.Zero(call.Type().In(k)))
		}
		asked = ""
		call.Call(args)
		if named++; asked != method.Name {
			t.Errorf("%s gives Fail the name %q", method.Name, asked)
		}
	}
	if named < 30 {
		t.Errorf("only %d methods were tried", named)
	}
}
