package api

import (
	"context"
	"encoding/xml"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/engine"
	"tallyman/internal/auth"
)

// RuleSource is how a rule is written, in the version that the node runs.
type RuleSource struct {
	XMLName  xml.Name      `json:"-" xml:"source"`
	Rule     string        `json:"rule" xml:"rule"`
	File     string        `json:"file" xml:"file"`
	Line     int           `json:"line" xml:"line" doc:"of the text's beginning, from 1"`
	Text     string        `json:"text" xml:"text" doc:"the rule's entry as its file had it when it was loaded, with its indentation and comments; what the file's defaults add is not in it"`
	Version  string        `json:"version" xml:"version" doc:"a hash of the rules that the answering node runs"`
	Problems []FileProblem `json:"problems" xml:"problems>problem" doc:"of the rule as it runs: why it is not verified, and what to look at; places are those of the file" nullable:"false"`
	Disk     *DiskSource   `json:"disk,omitempty" xml:"disk,omitempty" doc:"where the node's file does not have this text: an edit that is refused, or a rule that is gone; for those who see all warehouses"`
	Scopes   []string      `json:"-" xml:"-"`
}

// DiskSource is how the node's file has a rule that runs in another version.
type DiskSource struct {
	File     string        `json:"file,omitempty" xml:"file,omitempty"`
	Line     int           `json:"line,omitempty" xml:"line,omitempty"`
	Text     string        `json:"text,omitempty" xml:"text,omitempty"`
	Gone     bool          `json:"gone,omitempty" xml:"gone,omitempty" doc:"no file has it any more, or none that can be read"`
	Problems []FileProblem `json:"problems" xml:"problems>problem" doc:"why its file is refused" nullable:"false"`
}

type sourceOutput struct{ Body *RuleSource }

func (a *API) registerRuleSource(operations huma.API) {
	op := operation("get-rule-source", http.MethodGet, "/rules/{id}/source", "rules", "Show how a rule is written")
	op.Description = "The text is that of the running version, of the answering node's files. A token that is not for all warehouses sees a rule of whose scopes all are its own."
	huma.Register(operations, op, a.ruleSource)
}

// ruleSource answers GET /rules/{id}/source.
func (a *API) ruleSource(ctx context.Context, in *ruleInput) (*sourceOutput, error) {
	source, err := a.deps.RuleSource(in.ID)
	if err != nil {
		return nil, a.rulesFailed(ctx, err)
	}
	who := auth.From(ctx)
	if !slices.ContainsFunc(source.Scopes, func(scope string) bool { return concerns(who, scope) }) {
		return nil, a.rulesFailed(ctx, &engine.UnknownError{What: "rule", Name: in.ID})
	}
	for _, scope := range source.Scopes { // the text has all of them, with their parameters
		if prob := inWarehouse(who, scope); prob != nil {
			return nil, prob
		}
	}
	if !who.Everywhere() { // the text on the disk may have other scopes
		source.Disk = nil
	}
	return &sourceOutput{source}, nil
}
