package wire

import "encoding/xml"

// RewindAskForm asks for the watermark of a rule to be moved.
type RewindAskForm struct {
	To     []string `json:"to" minItems:"1" maxItems:"16" nullable:"false" doc:"the new position: a value for each column of the watermark, or one text with the values separated by commas. Of a time: 2026-06-01T00:00:00Z, or a duration before now such as -12h" example:"[\"-12h\"]"`
	Reason string   `json:"reason,omitempty" maxLength:"200" doc:"why; needed unless dryRun" example:"rows of the night shift were missed"`
	DryRun bool     `json:"dryRun,omitempty" doc:"count what would follow, and move nothing"`
}

// RewoundForm is what a rewind has moved, or would move.
type RewoundForm struct {
	XMLName xml.Name           `json:"-" xml:"rewound"`
	Rule    string             `json:"rule" xml:"rule"`
	DryRun  bool               `json:"dryRun" xml:"dryRun" doc:"nothing was moved"`
	Scopes  []RewoundScopeForm `json:"scopes" xml:"scope" nullable:"false"`
}

// RewoundScopeForm is the watermark of a rule in a scope.
type RewoundScopeForm struct {
	Scope     string            `json:"scope" xml:"scope" doc:"empty where the rule has no scopes"`
	Watermark []MarkForm        `json:"watermark" xml:"watermark>column" nullable:"false" doc:"before is null where the rule has not run yet"`
	Moved     bool              `json:"moved" xml:"moved"`
	Error     string            `json:"error,omitempty" xml:"error,omitempty" doc:"why it was not moved, although that of another scope was"`
	Follows   *RewindCountsForm `json:"follows,omitempty" xml:"follows,omitempty" doc:"of a dry run: what the next firing would come to, as of now"`
}

// RewindCountsForm is what follows a rewind.
type RewindCountsForm struct {
	Rows     int    `json:"rows" xml:"rows" doc:"rows that the next firing would judge"`
	Matched  int    `json:"matched" xml:"matched" doc:"rows that meet the condition"`
	Told     int    `json:"told" xml:"told" doc:"of these, rows that were told before and are not told again"`
	Silenced int    `json:"silenced" xml:"silenced" doc:"of these, rows that a silence drops"`
	Notices  int    `json:"notices" xml:"notices" doc:"notices that would follow"`
	More     bool   `json:"more" xml:"more" doc:"there are more rows; the numbers are of the first 100,000 or so"`
	Error    string `json:"error,omitempty" xml:"error,omitempty" doc:"why the firing would fail"`
}
