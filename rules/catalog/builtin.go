package catalog

import "strings"

// ReservedPrefix begins the codes of Tallyman's own types, and of no others.
const ReservedPrefix = "TALLYMAN_"

// The codes of the types that a rule's own state is told with.
const (
	NoData     = ReservedPrefix + "NO_DATA"     // no_data: alert
	RuleFailed = ReservedPrefix + "RULE_FAILED" // on_error: alert
)

// BuiltIn returns Tallyman's own types, which every catalogue has.
func BuiltIn() Catalog {
	const category = "SYSTEM"
	fields := func(more map[string]Field) map[string]Field {
		more["rule"] = Field{Type: String, Required: true}
		more["scope"] = Field{Type: String}
		more["since"] = Field{Type: Time}
		return more
	}
	return Catalog{
		NoData: {
			Code: NoData, ID: 2_000_000_001, Name: "Rule without data", Names: map[string]string{"zh": "规则无数据"},
			Category: category, Retention: DefaultRetention, Fields: fields(map[string]Field{}),
		},
		RuleFailed: {
			Code: RuleFailed, ID: 2_000_000_002, Name: "Rule failed", Names: map[string]string{"zh": "规则运行失败"},
			Category: category, Retention: DefaultRetention,
			Fields: fields(map[string]Field{"code": {Type: String}, "error": {Type: String}}),
		},
	}
}

// Reserved tells whether the code is one that a site cannot give to a type of its own.
func Reserved(code string) bool { return strings.HasPrefix(code, ReservedPrefix) }
