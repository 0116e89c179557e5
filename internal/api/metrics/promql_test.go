package metrics_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// tokens of PromQL, as far as the dashboard and the alerts use it. A grammar of our own instead of Prometheus's parser, whose module brings a
// hundred others along.
var promToken = regexp.MustCompile(`^(?:\s+|"(?:[^"\\]|\\.)*"|[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h|d)?|[a-zA-Z_:][a-zA-Z0-9_:]*|=~|!~|!=|==|>=|<=|[-+*/%^<>=(){}\[\],])`)

var (
	promFunctions = []string{"rate", "increase", "histogram_quantile", "absent", "min_over_time", "max_over_time", "changes", "vector", "time"}
	aggregations  = []string{"sum", "max", "min", "avg", "count", "topk", "bottomk"}
	grouping      = []string{"by", "without", "on", "ignoring"}
	setOperators  = []string{"and", "or", "unless"}
)

// promTokens cuts an expression up, without its spaces.
func promTokens(t *testing.T, where, expr string) []string {
	t.Helper()
	var list []string
	for rest := expr; rest != ""; {
		token := promToken.FindString(rest)
		if token == "" {
			t.Fatalf("%s: no PromQL at %q", where, rest)
		}
		rest = rest[len(token):]
		if token = strings.TrimSpace(token); token != "" {
			list = append(list, token)
		}
	}
	return list
}

var closing = map[string]string{")": "(", "}": "{", "]": "["}

// namesIn returns the metrics that an expression asks for, each with the labels that it is asked by. Labels of a grouping count for all metrics on
// the same side of an operator between sets.
func namesIn(t *testing.T, where, expr string) map[string][]string {
	t.Helper()
	tokens := promTokens(t, where, expr)
	names := map[string][]string{}
	var open, grouped []string
	metric, wasGrouping := "", false
	part := map[string]bool{} // metrics of this side of and, or, unless
	side := func() {
		for name := range part {
			names[name] = append(names[name], grouped...)
		}
		part, grouped = map[string]bool{}, nil
	}
	for i, token := range tokens {
		next := ""
		if i+1 < len(tokens) {
			next = tokens[i+1]
		}
		switch {
		case slices.Contains([]string{"(", "{", "["}, token):
			if wasGrouping {
				token = "(labels"
			}
			open, wasGrouping = append(open, token), false
		case closing[token] != "":
			if len(open) == 0 || open[len(open)-1][:1] != closing[token] {
				t.Fatalf("%s: %s closes nothing in %s", where, token, expr)
			}
			open = open[:len(open)-1]
		case !isWord(token):
		case len(open) > 0 && open[len(open)-1] == "{":
			if metric == "" || !slices.Contains([]string{"=", "!=", "=~", "!~"}, next) {
				t.Fatalf("%s: %s is no matcher of a metric in %s", where, token, expr)
			}
			names[metric] = append(names[metric], token)
		case len(open) > 0 && open[len(open)-1] == "(labels":
			grouped = append(grouped, token)
		case slices.Contains(grouping, token):
			wasGrouping = true
		case slices.Contains(setOperators, token):
			side()
		case slices.Contains(promFunctions, token) || slices.Contains(aggregations, token):
			if next != "(" && !slices.Contains(grouping, next) {
				t.Fatalf("%s: %s is given nothing in %s", where, token, expr)
			}
		default:
			metric = token
			names[metric] = append(names[metric], []string{}...)
			part[metric] = true
		}
	}
	if len(open) > 0 || len(names) == 0 {
		t.Fatalf("%s: %v stay open, %v are asked for in %s", where, open, names, expr)
	}
	side()
	return names
}

func isWord(token string) bool {
	c := token[0]
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// The check finds the faults that it must find.
func TestNamesInExpressions(t *testing.T) {
	t.Parallel()
	got := namesIn(t, "here", `histogram_quantile(0.99, sum by (le, rule) (rate(a_bucket{x="1",y=~"b(c|d)"}[5m]))) > 60 and b == 0`)
	if want := []string{"x", "y", "le", "rule"}; !slices.Equal(got["a_bucket"], want) {
		t.Errorf("a_bucket is asked by %v", got["a_bucket"])
	}
	if _, ok := got["b"]; !ok || len(got) != 2 {
		t.Errorf("got %v", got)
	}
}
