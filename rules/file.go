package rules

import (
	"fmt"
	"slices"
	"strings"

	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

// fileReader makes the rules of one file.
type fileReader struct {
	file     *strictyaml.File
	defaults *strictyaml.Node
	params   *paramUse
	problems problem.List
}

func (fr *fileReader) readDefaults(n *strictyaml.Node) {
	if n == nil {
		return
	}
	fr.problems = append(fr.problems, fr.file.Decode(n, newSpec())...)
	if n.Kind != strictyaml.Mapping {
		return
	}
	if id := n.Field("id"); id != nil {
		fr.problems = append(fr.problems, fr.file.Problem(id.Key, CodeOverride, "id cannot have a default", "each rule has its own"))
	}
	fr.defaults = n.Without("id")
}

// draft is the written form of a rule in one scope, before it is decoded.
type draft struct {
	tree   *strictyaml.Node // The merge of defaults, rule and scope so far.
	item   int              // The rule's position in the file's list.
	params []paramPart      // The maps of parameters that were merged into tree.
}

// rule makes one Rule for each scope of the entry, and returns every problem of the entry and its scopes. Where there
// is a problem, the caller must drop the rules.
func (fr *fileReader) rule(n *strictyaml.Node, item int) ([]*Rule, problem.List) {
	id := ""
	if key := n.Get("id"); key != nil && key.Kind == strictyaml.Scalar {
		id = key.Text
	}
	// The entry is decoded by itself as well, to report faults in fields that every scope overrides.
	problems := fr.file.Decode(n, newSpec())
	if n.Kind != strictyaml.Mapping {
		return nil, problems
	}
	merged := strictyaml.Merge(fr.defaults, n)
	spec := newSpec()
	problems = append(problems, fr.file.Decode(merged, spec)...)

	var made []*Rule
	base := draft{tree: merged.Without("scopes"), item: item, params: []paramPart{
		{fr.defaults.Get("probe", "params"), ""}, {n.Get("probe", "params"), id},
	}}
	switch scopes := merged.Field("scopes"); {
	case scopes == nil:
		r, found := fr.scoped(base, "")
		made, problems = append(made, r), append(problems, found...)
	case spec.Scopes.query != nil:
		base.tree = merged
		r, found := fr.queried(base, spec.Scopes.query)
		made, problems = append(made, r), append(problems, found...)
	default:
		made, problems = fr.scopes(id, base, scopes, spec.Scopes.list, problems)
	}
	for _, r := range made {
		r.OwnLabels = spec.Labels
		r.Checksum = checksum(r)
		if len(made) > 1 {
			r.Kin = r.kin()
		}
	}
	for i := range problems {
		problems[i].Rule = id
	}
	return made, problems
}

// scopes makes a Rule for each scope of the list. problems holds the problems so far. scopes returns them together with
// the problems of the scopes. It skips entries that did not decode, because problems has their faults already.
func (fr *fileReader) scopes(id string, base draft, field *strictyaml.Field, scopes []scopeSpec, problems problem.List) ([]*Rule, problem.List) {
	var made []*Rule
	if len(scopes) == 0 && field.Value.Kind == strictyaml.Sequence {
		problems = append(problems, fr.file.Problem(field.Key, strictyaml.CodeMissing, "scopes has no entry, so the rule would never run",
			"remove the field, or use enabled: false"))
	}
	seen := map[string]bool{}
	for i, s := range scopes {
		n := field.Value.Items[i]
		if n.Kind != strictyaml.Mapping {
			continue
		}
		if s.Name != "" || n.Get("name") != nil {
			problems = append(problems, fr.scopeName(n, s.Name, seen)...)
		}
		own, found := fr.overlay(id, base, n, s)
		problems = append(problems, found...)
		r, found := fr.scoped(own, s.Name)
		made, problems = append(made, r), append(problems, found...)
	}
	return made, problems
}

func (fr *fileReader) scopeName(n *strictyaml.Node, name string, seen map[string]bool) problem.List {
	at := n.Get("name")
	switch {
	case at == nil || at.Kind != strictyaml.Scalar || at.Tag != "!!str":
		return nil
	case !plainName.MatchString(name):
		return problem.List{fr.file.Problem(at, CodeBadName, fmt.Sprintf("%q cannot name a scope", name),
			"letters, digits, _ . and -, at most 64, beginning with a letter or digit")}
	case seen[name]:
		return problem.List{fr.file.Problem(at, CodeDuplicateName, fmt.Sprintf("the scope %q is there twice", name), "")}
	}
	seen[name] = true
	return nil
}

var fixedFields = []string{"id", "mode", "key", "per", "scopes", "split_by"}

// overlay merges a scope's own settings over the rule.
func (fr *fileReader) overlay(id string, base draft, n *strictyaml.Node, s scopeSpec) (draft, problem.List) {
	var problems problem.List
	own := draft{tree: base.tree, item: base.item, params: slices.Clone(base.params)}
	if o := s.Overrides; o != nil {
		problems = append(problems, fr.file.Decode(o, newSpec())...)
		if o.Kind == strictyaml.Mapping {
			for _, f := range o.Fields {
				if slices.Contains(fixedFields, f.Name) {
					problems = append(problems, fr.file.Problem(f.Key, CodeOverride, f.Name+" cannot differ between scopes",
						"overrides take any field but "+strings.Join(fixedFields, ", ")))
				}
			}
			own.tree = strictyaml.Merge(own.tree, o.Without(fixedFields...))
			own.params = append(own.params, paramPart{o.Get("probe", "params"), id})
		}
	}
	if p := n.Get("params"); p != nil && p.Kind == strictyaml.Mapping {
		own.tree = strictyaml.Merge(own.tree, strictyaml.Under(p, "probe", "params"))
		own.params = append(own.params, paramPart{p, id})
	}
	if zone := n.Field("timezone"); zone != nil {
		if s.Overrides.Get("schedule", "timezone") != nil {
			problems = append(problems, fr.file.Problem(zone.Key, CodeConflict, "the scope sets its timezone twice, here and in overrides", "keep one"))
		}
		own.tree = strictyaml.Merge(own.tree, strictyaml.Under(zone.Value, "schedule", "timezone"))
	}
	return own, problems
}

// scoped decodes and validates a complete draft. The caller sets the checksum.
func (fr *fileReader) scoped(d draft, scope string) (*Rule, problem.List) {
	spec := newSpec()
	problems := fr.file.Decode(d.tree, spec)
	r := ruleOf(spec, scope)
	r.File = fr.file.Name
	r.origin = origin{file: fr.file, tree: d.tree, item: d.item}
	problems = append(problems, validate(r, d.params, fr.params)...)
	return r, problems
}
