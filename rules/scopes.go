package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tallyman/rules/jsonschema"
	"tallyman/rules/probe"
	"tallyman/rules/problem"
	"tallyman/rules/row"
	"tallyman/rules/schedule"
	"tallyman/rules/scopelist"
	"tallyman/rules/strictyaml"
)

// ScopeQuery is a query that returns the scopes of a rule. Each row is a scope.
type ScopeQuery struct {
	Source string
	// The query must return a column called "name". It may return timezone, and columns with the names of the rule's
	// parameters.
	SQL   string
	Every time.Duration // How often the cluster runs the query.
}

// Statement parses the query, which takes no parameters.
func (q *ScopeQuery) Statement() (*probe.Statement, []probe.Fault) {
	stmt, faults := probe.Parse(q.SQL)
	if len(faults) == 0 && len(stmt.Params) > 0 {
		faults = append(faults, probe.Fault{Code: CodeParamMissing, Message: fmt.Sprintf("the query has the parameter :%s, but this query takes no parameters", stmt.Params[0]), Hint: `write \: for a colon that begins no parameter`})
	}
	return stmt, faults
}

// Question returns a hash of the query, its source, and the parameters that the query may return. When the question of
// a rule changes, the node runs the query at once.
func (r *Rule) Question() string {
	kinds := map[string]string{}
	for name, value := range r.Probe.Params {
		kinds[name] = fmt.Sprintf("%T", value)
	}
	text, err := json.Marshal([]any{r.Scopes.Source, r.Scopes.SQL, kinds}) // maps in order of their keys
	if err != nil {
		panic(fmt.Sprintf("rules: a query holds what JSON cannot: %v", err))
	}
	return scopelist.Hash(string(text))
}

// Placeholder marks a Rule without a real scope. The Rule stands for a rule whose scopes come from a query. It never
// runs.
type Placeholder string

// The placeholders.
const (
	// MadeUp is the mark that Load sets. The rule has one invented scope, so that everything that does not depend on
	// the scopes can be checked. Expand replaces the rule.
	MadeUp Placeholder = "made_up"
	// Waiting is a rule without usable scopes: no list is known, or Expand could not make scopes of the list. The
	// ledger must keep what it has of the scopes.
	Waiting Placeholder = "waiting"
	// Nowhere is a rule whose list is empty, as an operator has confirmed.
	Nowhere Placeholder = "nowhere"
)

// MadeUpScope is the name of the invented scope of a MadeUp rule.
const MadeUpScope = "SCOPE"

// WhyNot returns the reason why a placeholder does not run. The text begins with a code. The empty Placeholder has no
// reason.
func (p Placeholder) WhyNot() string {
	switch p {
	case Waiting:
		return "scopes_unknown: the rule waits for its scopes: its query has not returned a usable list; run `tallyman scopes list` to see why"
	case Nowhere:
		return "scopes_nowhere: the list of its scopes is empty, so the rule runs nowhere"
	case MadeUp:
		return "scopes_unknown: the scopes of the rule come from a query that was not run here"
	}
	return ""
}

// Expand replaces each MadeUp rule with one Rule for each scope of its list, in the order of the list. A rule without a
// list becomes Waiting. A rule whose scopes cannot be made also becomes Waiting, and the problems say why. Other rules
// stay as they are.
func Expand(list []*Rule, lists map[string]scopelist.List) ([]*Rule, problem.List) {
	expanded := make([]*Rule, 0, len(list))
	var problems problem.List
	for _, r := range list {
		if r.Placeholder != MadeUp {
			expanded = append(expanded, r)
			continue
		}
		scopes, known := lists[r.ID]
		switch {
		case !known:
			expanded = append(expanded, r.without(Waiting))
			continue
		case len(scopes) == 0:
			expanded = append(expanded, r.without(Nowhere))
			continue
		case len(expanded)+len(scopes) > maxRules:
			problems = append(problems, r.Problem("scopes", CodeTooMany, fmt.Sprintf("with its %d scopes there are more than %d rules, each scope counted", len(scopes), maxRules), ""))
			expanded = append(expanded, r.without(Waiting))
			continue
		}
		made, p := r.expand(scopes)
		if p != nil {
			problems = append(problems, *p)
			made = []*Rule{r.without(Waiting)}
		}
		expanded = append(expanded, made...)
	}
	return expanded, problems
}

func (r *Rule) without(p Placeholder) *Rule {
	own := *r
	own.Scope, own.Placeholder = "", p
	own.Checksum = derived(r.Checksum, p)
	return &own
}

func (r *Rule) expand(scopes scopelist.List) ([]*Rule, *problem.Problem) {
	jitters, kins := map[string]time.Duration{}, map[string]string{}
	made := make([]*Rule, len(scopes))
	for i := range scopes {
		s := &scopes[i]
		own := *r
		own.Scope, own.Placeholder = s.Name, ""
		if s.Timezone != "" {
			jitter, known := jitters[s.Timezone]
			if !known {
				var err error
				if jitter, err = r.JitterIn(s.Timezone); err != nil {
					p := r.Problem("scopes", CodeBadTimezone, fmt.Sprintf("scope %s: %s", s.Name, err), "")
					return nil, &p
				}
				jitters[s.Timezone] = jitter
			}
			own.Schedule.Timezone, own.Schedule.Jitter = s.Timezone, jitter
		}
		own.Probe.Params = r.paramsIn(s)
		own.Checksum = derived(r.Checksum, s)
		if kins[own.Schedule.Timezone] == "" {
			kins[own.Schedule.Timezone] = r.Checksum + " " + own.Schedule.Timezone
		}
		own.Kin = kins[own.Schedule.Timezone]
		made[i] = &own
	}
	return made, nil
}

// kin returns the Kin of a scope that the file lists: a checksum without the scope's name and parameter values.
func (r *Rule) kin() string {
	alike := *r
	alike.Scope, alike.Probe.Params = "", map[string]any{}
	for name, value := range r.Probe.Params {
		alike.Probe.Params[name] = fmt.Sprintf("%T", value)
	}
	return checksum(&alike)
}

// JitterIn returns the jitter of the rule in another time zone. It returns an error for a zone that the rule cannot
// have.
func (r *Rule) JitterIn(zone string) (time.Duration, error) {
	parsed, err := schedule.Parse(r.Schedule.Cron, zone)
	if err != nil {
		return 0, err
	}
	jitter := r.Schedule.Jitter
	if !r.origin.has("schedule.jitter") {
		jitter = schedule.DefaultJitter(parsed)
	}
	if jitter >= parsed.Shortest() {
		return 0, fmt.Errorf("timezone: in this timezone the jitter of %s reaches the next firing, which may be due after %s", strictyaml.FormatDuration(jitter), strictyaml.FormatDuration(parsed.Shortest()))
	}
	return jitter, nil
}

// paramsIn returns the parameters of the rule in a scope. The list may come from another version of the rule, so
// parameters that this version does not have are left out.
func (r *Rule) paramsIn(s *scopelist.Scope) map[string]any {
	if len(s.Params) == 0 {
		return r.Probe.Params
	}
	params := maps.Clone(r.Probe.Params)
	for name, value := range s.Params {
		if _, known := params[name]; known {
			params[name] = value
		}
	}
	return params
}

// derived returns the checksum of a rule that was made from another rule.
func derived(checksum string, with any) string {
	text, err := json.Marshal(with)
	if err != nil {
		panic(fmt.Sprintf("rules: a scope holds what JSON cannot: %v", err))
	}
	sum := sha256.Sum256([]byte(checksum + "\n" + string(text)))
	return hex.EncodeToString(sum[:16])
}

// ScopeName makes the name of a scope from a value. It returns false where the value cannot be such a name.
func ScopeName(v row.Value) (string, bool) { return warehouseName(v) }

// scopesSpec is the written form of scopes: a list, or the query that returns the list.
type scopesSpec struct {
	list  []scopeSpec
	query *scopeQuerySpec
}

type scopeQuerySpec struct {
	Source string        `yaml:"source" doc:"The database that the query reads: a name under sources in the configuration."`
	SQL    string        `yaml:"sql" text:"lines" doc:"One SELECT without parameters. Each row is a scope. A column called name is required. The column timezone, and columns named as parameters of the probe, are optional. For NULL the rule's own value counts."`
	Every  time.Duration `yaml:"every" min:"10s" max:"24h" doc:"How often one node of the cluster runs the query."`
}

// defaultScopesEvery is how often the cluster runs a query for scopes, where the rule does not say how often.
const defaultScopesEvery = 5 * time.Minute

// DecodeYAML implements strictyaml.Decodable.
func (s *scopesSpec) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	*s = scopesSpec{}
	if n.Kind != strictyaml.Mapping {
		d.Value(name, n, &s.list)
		return
	}
	s.query = &scopeQuerySpec{Every: defaultScopesEvery}
	d.Value(name, n, s.query)
}

// JSONSchema implements jsonschema.Schemer.
func (*scopesSpec) JSONSchema() *jsonschema.Schema {
	schema := jsonschema.Of(scopeQuerySpec{Every: defaultScopesEvery})
	schema.Type = jsonschema.Types{"array", "object"}
	schema.Items = jsonschema.Of(scopeSpec{})
	return schema
}

// queried makes the MadeUp placeholder of a rule whose scopes come from a query.
func (fr *fileReader) queried(d draft, q *scopeQuerySpec) (*Rule, problem.List) {
	r, problems := fr.scoped(d, MadeUpScope)
	r.Placeholder = MadeUp
	r.Scopes = &ScopeQuery{Source: q.Source, SQL: q.SQL, Every: q.Every}
	v := &validator{r: r}
	v.need("scopes.source", "the name of a source in the configuration")
	v.need("scopes.sql", "one SELECT that returns the column name")
	if v.isText("scopes.sql") && q.SQL != "" {
		_, faults := r.Scopes.Statement()
		for _, f := range faults {
			v.problems = append(v.problems, r.ProblemIn("scopes.sql", f.Offset, f.Code, f.Message, f.Hint))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Probe.Params)) {
		if lower := strings.ToLower(name); lower == "name" || lower == "timezone" {
			v.at(r.origin.at("probe.params", false).Field(name).Key, CodeParamReserved, fmt.Sprintf("probe.params must not have %s: the scopes query has a column of that name", lower), "choose another name")
		}
	}
	return r, append(problems, v.problems...)
}
