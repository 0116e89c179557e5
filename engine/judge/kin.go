package judge

import (
	"context"
	"sync"

	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/probe"
	"tallyman/rules/problem"
	"tallyman/rules/schedule"
	"tallyman/scanners"
)

// Kin is what the scopes of a rule have in common that differ in their names and parameters alone (rules.Rule.Kin): the
// schedule, the statement, the prepared probe and the compiled program. A rule with 100,000 scopes is prepared and
// compiled once. It is safe for concurrent use.
type Kin struct {
	mu        sync.Mutex
	schedule  *schedule.Schedule
	statement *probe.Statement
	program   *rules.Program
	compiled  scanners.PreparedProbe // what the program was compiled against
	types     int64                  // and with which version of the catalogue
	address   Address                // of the program's rule, or of the rule before it was compiled

	preparing chan struct{} // holds a value while nobody prepares
	prepared  scanners.PreparedProbe
}

// NewKin makes one that knows nothing yet.
func NewKin() *Kin {
	k := &Kin{preparing: make(chan struct{}, 1)}
	k.preparing <- struct{}{}
	return k
}

// parse returns the schedule and the statement of the rule, which is one of the kin, and its address.
func (k *Kin) parse(r *rules.Rule, channels map[string]Channel) (*schedule.Schedule, *probe.Statement, Address, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.statement == nil {
		var err error
		if k.schedule, k.statement, k.address, err = parse(r, channels); err != nil { // and nothing is kept
			return nil, nil, Address{}, err
		}
	}
	return k.schedule, k.statement, k.address, nil
}

// prepare returns the probe that one of the kin has prepared, or prepares it. One that the source has refused is not
// wanted any more.
func (k *Kin) prepare(ctx context.Context, refused scanners.PreparedProbe, ask func(context.Context) (scanners.PreparedProbe, error)) (scanners.PreparedProbe, error) {
	select {
	case <-k.preparing:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { k.preparing <- struct{}{} }()
	if k.prepared != nil && k.prepared != refused {
		return k.prepared, nil
	}
	var err error
	k.prepared, err = ask(ctx)
	return k.prepared, err
}

// compile returns the program of the rule, which is one of the kin, and its address. The program is that of any of the
// kin: who evaluates it borrows one.
func (k *Kin) compile(r *rules.Rule, prepared scanners.PreparedProbe, types catalog.Catalog, version int64, channels map[string]Channel) (*rules.Program, Address, problem.List) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.program == nil || k.compiled != prepared || k.types != version {
		program, problems := rules.Compile(r, prepared.Columns(), types)
		if len(problems) > 0 {
			return nil, Address{}, problems
		}
		k.address = NewAddress(program.Rule(), channels)
		k.program, k.compiled, k.types = program, prepared, version
	}
	return k.program, k.address, nil
}
