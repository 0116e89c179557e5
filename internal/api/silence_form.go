package api

import (
	"encoding/xml"
	"errors"
	"net/http"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/silence"
	"tallyman/rules/strictyaml"
)

var silenceStates = []silence.State{silence.Pending, silence.Active, silence.Expired}

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

// SilencesForm is a list of silences.
type SilencesForm struct {
	XMLName  xml.Name      `json:"-" xml:"silences"`
	Silences []SilenceForm `json:"silences" xml:"silence" doc:"the latest first" nullable:"false"`
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

type (
	silencesInput struct {
		State []string `query:"state,explode" doc:"only in this state; may be repeated: pending, active, expired" nullable:"false"`
	}
	silenceInput struct {
		ID string `path:"id" doc:"of the silence" example:"s_k3v9q2mwx7ta"`
	}
	silenceChange  struct{ Body SilenceFields }
	silencesOutput struct{ Body SilencesForm }
	silenceOutput  struct{ Body SilenceForm }
)

func newSilenceForm(s *silence.Silence, held ledger.HeldBack, now time.Time) SilenceForm {
	f := SilenceForm{
		ID: s.ID, State: string(s.State(now)), Matchers: matcherTexts(s), From: s.From.UTC(), Until: timeOrNil(s.Until),
		Next: timeOrNil(s.Next(now)), Comment: s.Comment, Author: s.Author, CreatedAt: s.Created.UTC(), EndedAt: timeOrNil(s.Ended),
		EndedBy: s.EndedBy, Events: s.Events,
	}
	if until, active := s.ActiveUntil(now); active {
		f.ActiveUntil, f.Findings, f.Deliveries = timeOrNil(until), held.Findings, held.Deliveries
	}
	if w := s.Window; w != nil {
		f.Window = &WindowForm{Cron: w.Cron, Timezone: w.Timezone, Duration: strictyaml.FormatDuration(w.Duration)}
	}
	return f
}

func matcherTexts(s *silence.Silence) []string {
	list := make([]string, len(s.Matchers))
	for i, m := range s.Matchers {
		list[i] = m.String()
	}
	return list
}

// silence reads the fields. Whether they fit together the caller checks.
func (f *SilenceFields) silence(now time.Time) (silence.Silence, *Problem) {
	s := silence.Silence{From: now, Comment: f.Comment}
	for _, text := range f.Matchers {
		m, err := silence.ParseMatcher(text)
		if err != nil {
			return s, silenceFault(err)
		}
		s.Matchers = append(s.Matchers, m)
	}
	if f.From != nil {
		s.From = f.From.UTC().Truncate(time.Microsecond)
	}
	switch {
	case f.Until != nil && f.For != "":
		return s, bodyFault("for", "until says when it ends already")
	case f.Until != nil:
		s.Until = f.Until.UTC().Truncate(time.Microsecond)
	case f.For != "":
		lasts, err := strictyaml.ParseDuration(f.For)
		if err != nil {
			return s, bodyFault("for", err.Error())
		}
		s.Until = s.From.Add(lasts)
	}
	if w := f.Window; w != nil {
		open, err := strictyaml.ParseDuration(w.Duration)
		if err != nil {
			return s, bodyFault(silence.FieldWindow+".duration", err.Error())
		}
		if s.Window, err = silence.NewWindow(w.Cron, w.Timezone, open); err != nil {
			return s, silenceFault(err)
		}
	}
	return s, nil
}

func bodyFault(field, message string) *Problem {
	return invalidBody([]Fault{{Location: "body." + field, Message: message}})
}

// silenceFault says what is wrong with a silence, and the way out.
func silenceFault(err error) *Problem {
	fault, ok := errors.AsType[*silence.Error](err)
	if !ok {
		return newProblem(http.StatusUnprocessableEntity, CodeInvalidBody, err.Error())
	}
	message := fault.Message
	if fault.Hint != "" {
		message += "; " + fault.Hint
	}
	return bodyFault(fault.Field, message)
}
