package wire

import (
	"encoding/xml"
	"time"
)

// SilencesForm is a list of silences.
type SilencesForm struct {
	XMLName  xml.Name      `json:"-" xml:"silences"`
	Silences []SilenceForm `json:"silences" xml:"silence" doc:"the latest first" nullable:"false"`
}

// SilenceForm is a silence as it stands.
type SilenceForm struct {
	XMLName     xml.Name    `json:"-" xml:"silence"`
	ID          string      `json:"id" xml:"id"`
	State       string      `json:"state" xml:"state" enum:"pending,active,expired" doc:"a recurring one is pending between its windows"`
	Matchers    []string    `json:"matchers" xml:"matcher" doc:"all of them have to match" nullable:"false"`
	From        time.Time   `json:"from" xml:"from"`
	Until       *time.Time  `json:"until,omitempty" xml:"until,omitempty" doc:"absent where its windows recur for ever"`
	Window      *WindowForm `json:"window,omitempty" xml:"window,omitempty" doc:"it is active in these windows alone"`
	ActiveUntil *time.Time  `json:"activeUntil,omitempty" xml:"activeUntil,omitempty" doc:"active: until when, unless somebody ends it"`
	Next        *time.Time  `json:"next,omitempty" xml:"next,omitempty" doc:"when it will be active next"`
	Comment     string      `json:"comment,omitempty" xml:"comment,omitempty"`
	Author      string      `json:"author" xml:"author" doc:"who has added it"`
	CreatedAt   time.Time   `json:"createdAt" xml:"createdAt"`
	EndedAt     *time.Time  `json:"endedAt,omitempty" xml:"endedAt,omitempty" doc:"somebody has ended it before its time"`
	EndedBy     string      `json:"endedBy,omitempty" xml:"endedBy,omitempty"`
	Findings    int         `json:"findings" xml:"findings" doc:"active: findings that have something to tell, and are held back now"`
	Deliveries  int         `json:"deliveries" xml:"deliveries" doc:"active: deliveries to push channels that are held back now"`
	Events      int64       `json:"events" xml:"events" doc:"rows of rules of mode event that it has dropped"`
}

// WindowForm is when a maintenance window is open.
type WindowForm struct {
	Cron     string `json:"cron" xml:"cron" doc:"when it opens" example:"0 22 * * 6"`
	Timezone string `json:"timezone,omitempty" xml:"timezone,omitempty" doc:"of the cron; UTC by default" example:"Asia/Shanghai"`
	Duration string `json:"duration" xml:"duration" doc:"how long it stays open: at least a minute, at most 31 days, and shorter than the time between two openings" example:"8h"`
}

// SilenceFields are what a new silence is made of.
type SilenceFields struct {
	Matchers []string    `json:"matchers" doc:"NAME=TEXT, NAME!=TEXT, NAME=~EXPRESSION or NAME!~EXPRESSION, all of which have to match; a name is rule, type, warehouse, scope, or that of a label. An expression (RE2) fits the whole text" example:"[\"rule=negative-bin-stock\",\"warehouse=~1192.*\"]" nullable:"false"`
	From     *time.Time  `json:"from,omitempty" doc:"when it begins; now by default"`
	Until    *time.Time  `json:"until,omitempty" doc:"when it ends; this or for, but for a window needs neither"`
	For      string      `json:"for,omitempty" doc:"how long it lasts from its beginning" example:"2h"`
	Window   *WindowForm `json:"window,omitempty" doc:"makes it active in these windows alone, between from and until"`
	Comment  string      `json:"comment,omitempty" text:"lines" doc:"why, for those who wonder; at most 1000 bytes" example:"stocktake"`
}
