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

// Kin holds the parts that scopes of a rule share if the scopes differ only in their names and parameters
// (rules.Rule.Kin). These parts are the schedule, the statement, the prepared probe and the compiled program. So a rule
// with 100,000 scopes is prepared and compiled once. A Kin is safe for concurrent use.
type Kin struct {
	mu        sync.Mutex
	schedule  *schedule.Schedule
	statement *probe.Statement
	program   *rules.Program
	compiled  scanners.PreparedProbe // The probe that the program was compiled against.
	types     int64                  // The version of the types that the program was compiled with.
	address   Address                // The address of the program's rule, or of the rule before it was compiled.

	preparing chan struct{} // A lock that can be waited for with a context. It holds a value while it is free.
	prepared  scanners.PreparedProbe
}

// NewKin makes an empty Kin.
func NewKin() *Kin {
	k := &Kin{preparing: make(chan struct{}, 1)}
	k.preparing <- struct{}{}
	return k
}

// parse returns the schedule, the statement and the address of a rule of the kin.
func (k *Kin) parse(r *rules.Rule, channels map[string]Channel) (*schedule.Schedule, *probe.Statement, Address, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.statement == nil {
		var err error
		// After an error, statement stays nil, so the next call parses again.
		if k.schedule, k.statement, k.address, err = parse(r, channels); err != nil {
			return nil, nil, Address{}, err
		}
	}
	return k.schedule, k.statement, k.address, nil
}

// prepare returns the kin's prepared probe. Where there is none, or the source has refused it, prepare calls ask.
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

// compile returns the kin's program and address. The program is shared: a caller that evaluates it must borrow one
// first.
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
