package catalog

import (
	"fmt"
	"os"

	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

type fileSpec struct {
	Types []*strictyaml.Node `yaml:"types,required"`
}

// Load reads the catalogue from a file (configs/types.yaml shows one). Where there are problems the catalogue holds the
// sound types only.
func Load(path string) (Catalog, problem.List) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, problem.List{{Code: "file_unreadable", File: path, Message: err.Error()}}
	}
	return Parse(path, src)
}

// Parse is Load of a file that is in memory; name is for messages.
func Parse(name string, src []byte) (Catalog, problem.List) {
	f, problems := strictyaml.Parse(name, src)
	if f == nil {
		return nil, problems
	}
	var spec fileSpec
	problems = f.Decode(f.Root, &spec)
	types := Catalog{}
	byID := map[int64]string{}
	for _, n := range spec.Types {
		t := Type{Retention: DefaultRetention}
		found := f.Decode(n, &t)
		if len(found) == 0 {
			found = check(f, n, t, types, byID)
		}
		if len(found) > 0 {
			problems = append(problems, found...)
			continue
		}
		types[t.Code] = t
		byID[t.ID] = t.Code
	}
	return types, problems
}

// check reports what is wrong with a decoded type by itself and beside those before it.
func check(f *strictyaml.File, n *strictyaml.Node, t Type, types Catalog, byID map[int64]string) problem.List {
	var l problem.List
	for _, fault := range t.Validate() {
		at, near := n.Walk(fault.Field)
		if at == nil {
			at = near
		}
		l = append(l, f.Problem(at, fault.Code, fault.Message, fault.Hint))
	}
	if _, taken := types[t.Code]; taken {
		l = append(l, f.Problem(n.Get("code"), CodeDuplicateID, fmt.Sprintf("the type %s is there twice", t.Code), "codes are unique"))
	}
	if other, taken := byID[t.ID]; taken {
		l = append(l, f.Problem(n.Get("id"), CodeDuplicateID, fmt.Sprintf("the id %d belongs to %s", t.ID, other), "ids are unique"))
	}
	return l
}
