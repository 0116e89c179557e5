package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// newSpec holds the defaults of every field that has one; decoding leaves them where nothing is written.
func newSpec() *ruleSpec {
	return &ruleSpec{
		Enabled:  true,
		Mode:     string(ModeState),
		Schedule: scheduleSpec{Timezone: "UTC", Overlap: string(OverlapSkip), CatchUp: string(CatchUpOnce)},
		Probe:    probeSpec{Timeout: 10 * time.Second, MaxRows: 10_000},
		Per:      "row",
		When:     "true",
		NoData:   string(PolicyOK),
		OnError:  string(PolicyKeepLast),
		Notice:   noticeSpec{Priority: "3", Modal: string(ModalSilent)},
	}
}

// ruleOf makes the Rule that a complete spec describes.
func ruleOf(s *ruleSpec, scope string) *Rule {
	r := &Rule{
		ID: s.ID, Scope: scope, Title: s.Title, Description: s.Description, Owner: s.Owner, RunbookURL: s.RunbookURL,
		Labels: s.Labels, Enabled: s.Enabled, Mode: Mode(s.Mode), Shadow: s.Shadow,
		Schedule: Schedule{
			Cron: s.Schedule.Cron, Timezone: s.Schedule.Timezone, Jitter: s.Schedule.Jitter,
			Overlap: Overlap(s.Schedule.Overlap), CatchUp: CatchUp(s.Schedule.CatchUp),
		},
		Source: s.Source,
		Probe:  Probe{SQL: s.Probe.SQL, Params: s.Probe.Params, Timeout: s.Probe.Timeout, MaxRows: s.Probe.MaxRows, MaxCost: s.Probe.MaxCost},
		Per:    Per(s.Per), When: string(s.When), Key: s.Key, GroupBy: s.GroupBy,
		For: s.For, KeepFiringFor: s.KeepFiringFor, RepeatInterval: s.RepeatInterval,
		NoData: Policy(s.NoData), OnError: Policy(s.OnError), Limit: Limit{Notices: s.Limit.Notices},
		Notice: Notice{
			Type: s.Notice.Type, Warehouse: string(s.Notice.Warehouse), Priority: string(s.Notice.Priority),
			Modal: Modal(s.Notice.Modal), Title: s.Notice.Title, Body: s.Notice.Body,
			Expires: s.Notice.Expires, SendResolved: s.Notice.SendResolved,
		},
	}
	if w := s.Probe.Watermark; w.Columns != nil {
		r.Probe.Watermark = &Watermark{Columns: w.Columns, Initial: w.Initial, Lag: w.Lag}
	}
	if s.Notice.Fields != nil {
		r.Notice.Fields = map[string]string{}
		for name, expr := range s.Notice.Fields {
			r.Notice.Fields[name] = string(expr)
		}
	}
	for _, d := range s.Deliver {
		r.Deliver = append(r.Deliver, Deliver{
			Sink: d.Sink, Strategy: Strategy(strings.TrimPrefix(d.Strategy, immediate)), Within: d.Within, Delay: d.Delay, At: string(d.At),
			Retry: d.Retry, Unless: Unless(d.Unless), When: string(d.When),
		})
	}
	return r
}

// checksum is over what the rule means: not over where and how it was written.
func checksum(r *Rule) string {
	meaning := *r
	meaning.File, meaning.Checksum = "", ""
	text, err := json.Marshal(meaning) // maps in order of their keys
	if err != nil {
		panic(fmt.Sprintf("rules: a rule holds what JSON cannot: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
