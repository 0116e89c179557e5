package wire

import "encoding/xml"

// RewindAskForm asks to move the watermark of a rule.
type RewindAskForm struct {
	To     []string `json:"to" minItems:"1" maxItems:"16" nullable:"false" doc:"the new position: one value for each column of the watermark, or one text with the values separated by commas. For a time: 2026-06-01T00:00:00Z, or a duration before now such as -12h" example:"[\"-12h\"]"`
	Reason string   `json:"reason,omitempty" maxLength:"200" doc:"reason of the rewind; needed unless dryRun is set" example:"rows of the night shift were missed"`
	DryRun bool     `json:"dryRun,omitempty" doc:"only count what would follow; the watermark stays"`
}

// RewoundForm is the result of a rewind, or of its dry run.
type RewoundForm struct {
	XMLName xml.Name           `json:"-" xml:"rewound"`
	Rule    string             `json:"rule" xml:"rule"`
	DryRun  bool               `json:"dryRun" xml:"dryRun" doc:"true where the watermark was not moved"`
	Scopes  []RewoundScopeForm `json:"scopes" xml:"scope" nullable:"false"`
}

// RewoundScopeForm is the result of a rewind in one scope.
type RewoundScopeForm struct {
	Scope     string            `json:"scope" xml:"scope" doc:"empty where the rule has no scopes"`
	Watermark []MarkForm        `json:"watermark" xml:"watermark>column" nullable:"false" doc:"before is null where the rule has not run yet"`
	Moved     bool              `json:"moved" xml:"moved"`
	Error     string            `json:"error,omitempty" xml:"error,omitempty" doc:"why the watermark was not moved, although the watermark of another scope was moved"`
	Follows   *RewindCountsForm `json:"follows,omitempty" xml:"follows,omitempty" doc:"of a dry run: the counts of the next firing, if it came now"`
}

// RewindCountsForm is the counts of the firing after a rewind.
type RewindCountsForm struct {
	Rows     int    `json:"rows" xml:"rows" doc:"rows that the next firing would judge"`
	Matched  int    `json:"matched" xml:"matched" doc:"rows that meet the condition"`
	Told     int    `json:"told" xml:"told" doc:"matched rows that already have a notice and get no second one"`
	Silenced int    `json:"silenced" xml:"silenced" doc:"matched rows that a silence drops"`
	Notices  int    `json:"notices" xml:"notices" doc:"number of notices that would follow"`
	More     bool   `json:"more" xml:"more" doc:"true where there are more rows; the numbers then count about the first 100,000"`
	Error    string `json:"error,omitempty" xml:"error,omitempty" doc:"why the firing would fail"`
}
