package operate

import (
	"errors"
	"net/http"
	"time"

	"tallyman/internal/api"
	"tallyman/internal/ledger"
	"tallyman/internal/silence"
	"tallyman/internal/wire"
	"tallyman/rules/strictyaml"
)

var silenceStates = []silence.State{silence.Pending, silence.Active, silence.Expired}

type (
	silencesInput struct {
		State []string `query:"state,explode" doc:"only in this state; may be repeated: pending, active, expired" nullable:"false"`
	}
	silenceInput struct {
		ID string `path:"id" doc:"of the silence" example:"s_k3v9q2mwx7ta"`
	}
	silenceChange  struct{ Body wire.SilenceFields }
	silencesOutput struct{ Body wire.SilencesForm }
	silenceOutput  struct{ Body wire.SilenceForm }
)

func newSilenceForm(s *silence.Silence, held ledger.HeldBack, now time.Time) wire.SilenceForm {
	f := wire.SilenceForm{
		ID: s.ID, State: string(s.State(now)), Matchers: matcherTexts(s), From: s.From.UTC(), Until: wire.Moment(s.Until),
		Next: wire.Moment(s.Next(now)), Comment: s.Comment, Author: s.Author, CreatedAt: s.Created.UTC(), EndedAt: wire.Moment(s.Ended),
		EndedBy: s.EndedBy, Events: s.Events,
	}
	if until, active := s.ActiveUntil(now); active {
		f.ActiveUntil, f.Findings, f.Deliveries = wire.Moment(until), held.Findings, held.Deliveries
	}
	if w := s.Window; w != nil {
		f.Window = &wire.WindowForm{Cron: w.Cron, Timezone: w.Timezone, Duration: strictyaml.FormatDuration(w.Duration)}
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

// parseSilence reads the fields. Whether they fit together the caller checks.
func parseSilence(f *wire.SilenceFields, now time.Time) (silence.Silence, *wire.Problem) {
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

func bodyFault(field, message string) *wire.Problem {
	return api.InvalidBody([]wire.Fault{{Location: "body." + field, Message: message}})
}

// silenceFault says what is wrong with a silence, and the way out.
func silenceFault(err error) *wire.Problem {
	fault, ok := errors.AsType[*silence.Error](err)
	if !ok {
		return wire.NewProblem(http.StatusUnprocessableEntity, wire.CodeInvalidBody, err.Error())
	}
	message := fault.Message
	if fault.Hint != "" {
		message += "; " + fault.Hint
	}
	return bodyFault(fault.Field, message)
}
