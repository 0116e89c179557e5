package authoring

import (
	"context"
	"fmt"
	"time"

	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
	"tallyman/scanners"
)

// mostApart is the most that the clocks of a server and of this machine may differ without a warning. The time that the
// question takes does not count.
const mostApart = 2 * time.Second

// checkTime compares the server's clock with this machine's clock, and warns where they differ. Where the source has no
// timezone, it also compares the server's time zone with UTC. It does not compare a timezone that is set. Such a
// timezone says in which zone the tables hold times, and the tables may use another zone than the server. A source
// without a clock gets no warning.
func (s *sourceCheck) checkTime(ctx context.Context, source scanners.Source, setting *time.Location) {
	clock, ok := source.(scanners.Clock)
	if !ok {
		return
	}
	before := time.Now()
	server, err := clock.Clock(ctx)
	after := time.Now()
	if err != nil {
		s.warnOfTime(&s.warnings, fmt.Sprintf("the source %s does not tell its time, so its clock and time zone are not checked: %v", s.name, err), "")
		return
	}
	if apart := ClockApart(server, before, after); apart != "" {
		s.warnOfTime(&s.lints, fmt.Sprintf("the clock of the source %s is %s", s.name, apart), clockHint)
	}
	if zone := OtherZone(server); setting == nil && zone != "" {
		s.warnOfTime(&s.lints, fmt.Sprintf("the server's time zone of the source %s is %s, and the source has no timezone: times without a zone are read as UTC", s.name, zone),
			fmt.Sprintf("set sources.%s.timezone to the zone of the times in its tables: the server's, or UTC where they hold that; a timezone that is set is not compared", s.name))
	}
}

// ClockApart says how far a server's clock is from this machine's, such as "3s ahead of this machine's". It returns ""
// for clocks that agree. before and after are this machine's times of the question and the answer.
func ClockApart(server, before, after time.Time) string {
	apart, behind := server.Sub(after), before.Sub(server)
	switch {
	case apart > mostApart:
		return roundUp(apart) + " ahead of this machine's"
	case behind > mostApart:
		return roundUp(behind) + " behind this machine's"
	}
	return ""
}

// OtherZone returns the name of the zone of a server's time. It returns "" for a zone that shows the times of UTC.
func OtherZone(server time.Time) string {
	if !differ(server, time.UTC) {
		return ""
	}
	return named(server)
}

const clockHint = "synchronize both clocks with NTP: NOW() in a probe and :now differ by this time"

func roundUp(d time.Duration) string { return strictyaml.FormatDuration(d.Round(time.Second)) }

// differ tells whether the two zones show different times now or within a year. Some zones differ only in summer.
func differ(server time.Time, setting *time.Location) bool {
	for months := range 12 {
		at := server.AddDate(0, months, 0)
		_, there := at.Zone()
		if _, here := at.In(setting).Zone(); there != here {
			return true
		}
	}
	return false
}

// named returns the zone of a server's time: its name with the offset, or the offset alone.
func named(server time.Time) string {
	name, offset := server.Location().String(), server.Format("-07:00")
	if name == "" || name == offset {
		return offset
	}
	return name + " (" + offset + ")"
}

// warnOfTime adds a warning about the source to the list. Its place is the first rule of the source.
func (s *sourceCheck) warnOfTime(list *problem.List, message, hint string) {
	p := s.checks[0].rule.Problem("source", string(scanners.CodeTime), message, hint)
	p.Rule = ""
	s.mu.Lock()
	defer s.mu.Unlock()
	*list = append(*list, p)
}
