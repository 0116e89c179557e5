package wire

import (
	"encoding/xml"
	"time"
)

// HistoryForm is figures over time.
type HistoryForm struct {
	XMLName     xml.Name           `json:"-" xml:"history"`
	From        time.Time          `json:"from" xml:"from"`
	To          time.Time          `json:"to" xml:"to"`
	StepSeconds int64              `json:"stepSeconds" xml:"stepSeconds" doc:"length of a point in seconds"`
	Sampled     *time.Time         `json:"sampled,omitempty" xml:"sampled,omitempty" doc:"time of the latest sample of all, inside or outside of this period. Samples are taken once a minute"`
	Warehouses  []HistoryShareForm `json:"warehouses" xml:"warehouses>warehouse" doc:"warehouses of the token that have any figures in this period, for the types asked for; by name" nullable:"false"`
	Types       []HistoryShareForm `json:"types" xml:"types>type" doc:"types that have any figures in this period, for the warehouses asked for; by name" nullable:"false"`
	Points      []HistoryPointForm `json:"points" xml:"points>point" doc:"the points in the order of time" nullable:"false"`
}

// HistoryShareForm is the number of notices of a warehouse or a type.
type HistoryShareForm struct {
	Name    string `json:"name" xml:"name,attr"`
	Notices int64  `json:"notices" xml:"notices,attr"`
}

// HistoryPointForm is the figures of one step of time.
type HistoryPointForm struct {
	Start   time.Time           `json:"start" xml:"start,attr"`
	Notices int64               `json:"notices" xml:"notices,attr" doc:"number of notices that were made"`
	Urgent  int64               `json:"urgent" xml:"urgent,attr" doc:"number of these notices with priority 4 or 5"`
	Samples int                 `json:"samples" xml:"samples,attr" doc:"number of samples behind the other values; 0 = no node took a sample"`
	Looked  *HistoryFiguresForm `json:"looked,omitempty" xml:"looked,omitempty" doc:"the values from the samples"`
}

// HistoryFiguresForm is the figures of a point that come from samples.
type HistoryFiguresForm struct {
	Firing     float64 `json:"firing" xml:"firing,attr" doc:"firing findings, mean of the samples"`
	Pending    float64 `json:"pending" xml:"pending,attr" doc:"pending findings, mean of the samples"`
	Waiting    float64 `json:"waiting" xml:"waiting,attr" doc:"pending deliveries that are due, mean of the samples. 10,000 means 10,000 or more"`
	WaitingP50 float64 `json:"waitingP50" xml:"waitingP50,attr" doc:"age in seconds that half of these deliveries do not exceed, over the oldest 10,000"`
	WaitingP99 float64 `json:"waitingP99" xml:"waitingP99,attr" doc:"age in seconds that 99 of 100 of these deliveries do not exceed"`
	QueueAge   float64 `json:"queueAge" xml:"queueAge,attr" doc:"waiting time of the oldest ready item of a queue in seconds, highest of the samples; over all types"`
	Lateness   float64 `json:"lateness" xml:"lateness,attr" doc:"delay of a firing in seconds, highest of the samples. Firings that are due and have not begun count, too"`
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
	Error string    `json:"error" xml:"error" doc:"error text; begins with a code"`
}
