package ruletest

import (
	"fmt"
	"slices"

	"tallyman/rules/problem"
	"tallyman/rules/row"
)

// scene makes a step what the source answers.
func (p *planner) scene(step *Step, kinds []row.Kind) (stepScene, *Failure) {
	wrong := func(at cells, f *cellFault) *Failure {
		failure := p.failure(p.test, f.message, problem.List{p.yaml.Problem(at.node, CodeValue, f.message, f.hint)})
		return &failure
	}
	switch {
	case step.Fault != "":
		return stepScene{fault: faultOf(step.Fault)}, nil
	case step.Tables != nil:
		staged, bad, at := p.tables.stage(p.test.tables(), kinds, step)
		if bad != nil {
			return stepScene{}, wrong(at, bad)
		}
		return stepScene{staged: staged, tables: true}, nil
	}
	s := stepScene{}
	for _, r := range step.Rows {
		if f := p.fits(r); f != nil {
			return stepScene{}, wrong(r, f)
		}
		values, bad := r.line(p.columns)
		if bad != nil {
			return stepScene{}, wrong(r, bad)
		}
		s.rows = append(s.rows, values)
	}
	return s, nil
}

// fits compares the columns of a row with those of a prepared probe.
func (p *planner) fits(r cells) *cellFault {
	if p.db == nil {
		return nil // the columns are those of the rows
	}
	var names []string
	for _, c := range p.columns {
		names = append(names, c.Name)
		if _, ok := r.values[c.Name]; !ok {
			return &cellFault{fmt.Sprintf("the row has no %s, which the probe returns", c.Name), "write " + c.Name + ": null"}
		}
	}
	for _, name := range r.columns() {
		if !slices.Contains(names, name) {
			return &cellFault{"the probe returns no column " + name, nearest(name, names)}
		}
	}
	return nil
}
