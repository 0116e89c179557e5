package wire

import (
	"encoding/xml"
	"time"
)

// HistoryForm is how things were over time.
type HistoryForm struct {
	XMLName     xml.Name           `json:"-" xml:"history"`
	From        time.Time          `json:"from" xml:"from"`
	To          time.Time          `json:"to" xml:"to"`
	StepSeconds int64              `json:"stepSeconds" xml:"stepSeconds" doc:"how long a point is"`
	Sampled     *time.Time         `json:"sampled,omitempty" xml:"sampled,omitempty" doc:"when the latest sample was taken, of whatever time; samples are taken once a minute"`
	Warehouses  []HistoryShareForm `json:"warehouses" xml:"warehouses>warehouse" doc:"of the token, that have had anything in this time, of the types that were asked for; by name" nullable:"false"`
	Types       []HistoryShareForm `json:"types" xml:"types>type" doc:"that have had anything in this time, in the warehouses that were asked for; by name" nullable:"false"`
	Points      []HistoryPointForm `json:"points" xml:"points>point" doc:"in the order of time" nullable:"false"`
}

// HistoryShareForm is the part of the notices that a warehouse or a type has.
type HistoryShareForm struct {
	Name    string `json:"name" xml:"name,attr"`
	Notices int64  `json:"notices" xml:"notices,attr"`
}

// HistoryPointForm is how things were for the length of a step.
type HistoryPointForm struct {
	Start   time.Time           `json:"start" xml:"start,attr"`
	Notices int64               `json:"notices" xml:"notices,attr" doc:"that were made"`
	Urgent  int64               `json:"urgent" xml:"urgent,attr" doc:"of those, the ones of priority 4 and 5"`
	Samples int                 `json:"samples" xml:"samples,attr" doc:"of which the rest was made; 0 = nobody looked"`
	Looked  *HistoryFiguresForm `json:"looked,omitempty" xml:"looked,omitempty" doc:"what the samples say"`
}

// HistoryFiguresForm is what samples say of a point.
type HistoryFiguresForm struct {
	Firing     float64 `json:"firing" xml:"firing,attr" doc:"open findings, the mean of the samples"`
	Pending    float64 `json:"pending" xml:"pending,attr" doc:"findings that are pending, the mean of the samples"`
	Waiting    float64 `json:"waiting" xml:"waiting,attr" doc:"deliveries that are due and pending, the mean of the samples; 10,000 stands for so many or more"`
	WaitingP50 float64 `json:"waitingP50" xml:"waitingP50,attr" doc:"their age in seconds, which half of them have not passed; of the oldest 10,000"`
	WaitingP99 float64 `json:"waitingP99" xml:"waitingP99,attr" doc:"their age in seconds, which 99 of a hundred have not passed"`
	QueueAge   float64 `json:"queueAge" xml:"queueAge,attr" doc:"since when the oldest ready item of a queue waited, in seconds, the highest of the samples; of all types"`
	Lateness   float64 `json:"lateness" xml:"lateness,attr" doc:"how late a firing began, or was and had not begun, in seconds, the highest of the samples"`
}

// FailuresForm are runs that failed.
type FailuresForm struct {
	XMLName xml.Name      `json:"-" xml:"failures"`
	Runs    []FailureForm `json:"runs" xml:"run" nullable:"false"`
}

// FailureForm is a run that failed.
type FailureForm struct {
	Rule  string    `json:"rule" xml:"rule,attr"`
	Scope string    `json:"scope,omitempty" xml:"scope,attr,omitempty"`
	Due   time.Time `json:"due" xml:"due,attr"`
	Error string    `json:"error" xml:"error" doc:"begins with a code"`
}
