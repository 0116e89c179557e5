package send

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
	"tallyman/rules/strictyaml"
)

// deliver returns the sinks of a notice: the sinks that the notice names, or else the sinks of its type, or else the
// inbox.
func (s *noticeMaker) deliver(at string, f *wire.SendNoticeForm, typ *catalog.Type, expires time.Duration) []ledger.Target {
	recipients := s.recipients(at, f.Recipients)
	forms, from := f.Deliver, at
	if len(forms) == 0 {
		forms, from = ofType(typ), at+"type."
	}
	if len(forms) == 0 {
		forms = []wire.DeliverForm{{Sink: s.inbox()}}
	}
	targets := make([]ledger.Target, len(forms))
	seen := make(map[string]bool, len(forms))
	asked := false // A sink needs recipients.
	for i := range forms {
		where := from + "deliver[" + strconv.Itoa(i) + "]."
		d := &forms[i]
		targets[i].Sink = d.Sink
		kind, ok := s.targets[d.Sink]
		switch {
		case !ok:
			s.add(wire.CodeUnknownSink, where+"sink", "there is no sink "+policy.Quote(d.Sink)+"; there are "+strings.Join(slices.Sorted(maps.Keys(s.targets)), ", "))
			continue
		case seen[d.Sink]:
			s.add(wire.CodeInvalidBody, where+"sink", "sink "+d.Sink+" is named twice; a notice goes to a sink once")
		}
		seen[d.Sink] = true
		targets[i] = ledger.Target{Sink: d.Sink, Inbox: kind == TargetInbox, Each: kind == TargetEach, Address: s.addresses[d.Sink]}
		if kind != TargetQueue { // Queues need no recipients: any worker may lease an item.
			targets[i].Recipients, asked = recipients, true
		}
		targets[i].Strategy = s.strategy(where, d, kind, expires)
	}
	if len(recipients) > 0 && !asked {
		s.add(wire.CodeInvalidBody, at+"recipients", "no sink of the notice has recipients: leave recipients out, or deliver to "+s.inbox())
	}
	return targets
}

// ofType returns the sinks of a type in the form of a sent notice. A sent notice never resolves, so an unless of
// resolved has no effect.
func ofType(typ *catalog.Type) []wire.DeliverForm {
	forms := make([]wire.DeliverForm, len(typ.Deliver))
	for i, e := range typ.Deliver {
		forms[i] = wire.DeliverForm{Sink: e.Sink, Strategy: e.Strategy.String(), Delay: span(e.Delay), Within: span(e.Within), Retry: e.Retry, Unless: string(e.Unless)}
		if e.Unless == deliver.UnlessResolved {
			forms[i].Unless = ""
		}
	}
	return forms
}

func span(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return strictyaml.FormatDuration(d)
}

// inbox returns the name of the default sink.
func (s *noticeMaker) inbox() string {
	for name, kind := range s.targets {
		if kind == TargetInbox {
			return name
		}
	}
	return string(TargetInbox)
}

// recipients returns the named recipients, sorted.
func (s *noticeMaker) recipients(at string, list []string) []string {
	s.beyond(at, notice.CheckRecipients(len(list)))
	for i, r := range list {
		if !api.IsSubscriber(r) {
			where := at + "recipients[" + strconv.Itoa(i) + "]"
			s.add(wire.CodeBadSubscriber, where, policy.Quote(r)+" is neither user:<id> nor role:<id>")
		}
	}
	return api.SortedUnique(slices.Clone(list))
}

// strategy returns the strategy for the sink, or nil for the inbox and queues, which are tried until they take the
// notice.
func (s *noticeMaker) strategy(at string, d *wire.DeliverForm, kind TargetKind, expires time.Duration) *delivery.Strategy {
	st := &delivery.Strategy{Kind: delivery.StrategyKind(d.Strategy), Retry: d.Retry, Unless: delivery.Unless(d.Unless), Until: delivery.Until(d.Until)}
	if st.Kind == "" {
		st.Kind = delivery.Immediate
	}
	if kind == TargetInbox || kind == TargetQueue {
		s.notForLane(at, d, kind)
		return nil
	}
	s.onlyWith(at, d, delivery.Delayed, map[string]bool{"delay": d.Delay != "", "at": d.At != "", "retry": d.Retry != 0, "unless": d.Unless != ""})
	s.onlyWith(at, d, delivery.Timed, map[string]bool{"within": d.Within != ""})
	s.onlyWith(at, d, delivery.Important, map[string]bool{"until": d.Until != ""})
	switch st.Kind {
	case delivery.Delayed:
		st.Delay, st.At = s.start(at, d)
		if first := st.First(s.now).Sub(s.now); first >= expires && expires > 0 {
			s.add(wire.CodeInvalidBody, at+"delay", "the notice expires after "+strictyaml.FormatDuration(expires)+", before it would be sent")
		}
	case delivery.Timed:
		st.Within = s.within(at, d)
	case delivery.Immediate, delivery.Important:
	}
	return st
}

// notForLane refuses fields that only push channels support.
func (s *noticeMaker) notForLane(at string, d *wire.DeliverForm, kind TargetKind) {
	later := d.Strategy == string(delivery.Delayed) || d.Strategy == string(delivery.Timed)
	if later || d.Until != "" || d.Delay != "" || d.At != "" || d.Within != "" || d.Retry != 0 || d.Unless != "" {
		what := "an inbox"
		if kind == TargetQueue {
			what = "a queue"
		}
		s.add(wire.CodeStrategyNotForSink, at+"strategy", d.Sink+" is "+what+", which is tried at once, and again until it takes the notice; "+
			"the strategies delayed and timed, and the fields delay, at, within, retry, unless and until, are for push channels: leave them out")
	}
}

// onlyWith refuses fields that only another strategy uses.
func (s *noticeMaker) onlyWith(at string, d *wire.DeliverForm, kind delivery.StrategyKind, given map[string]bool) {
	if d.Strategy == string(kind) {
		return
	}
	for _, field := range slices.Sorted(maps.Keys(given)) {
		if given[field] {
			s.add(wire.CodeInvalidBody, at+field, "only strategy "+string(kind)+" uses this field")
		}
	}
}

// start parses the time of the first attempt of a delayed delivery.
func (s *noticeMaker) start(at string, d *wire.DeliverForm) (delay time.Duration, when time.Time) {
	var err error
	switch {
	case d.Delay == "" && d.At == "":
		s.add(wire.CodeInvalidBody, at+"delay", "strategy delayed needs delay or at")
	case d.Delay != "" && d.At != "":
		s.add(wire.CodeInvalidBody, at+"at", "at and delay both set the time of the first attempt: give one of the two")
	case d.Delay != "":
		if delay, err = api.ParseSpan(d.Delay); err != nil {
			s.add(wire.CodeInvalidBody, at+"delay", err.Error())
		} else if delay > deliver.MostDelay {
			s.add(wire.CodeInvalidBody, at+"delay", "at most 366d")
		}
	default:
		if when, err = time.Parse(time.RFC3339Nano, d.At); err != nil {
			s.add(wire.CodeInvalidBody, at+"at", "the value must be a time in RFC 3339, such as 2026-06-01T18:00:00+08:00")
		} else if when.Sub(s.now) > deliver.MostDelay {
			s.add(wire.CodeInvalidBody, at+"at", "the time is more than 366d ahead")
		}
		when = when.UTC().Truncate(time.Microsecond)
	}
	return delay, when
}

// within parses how long a timed delivery is tried.
func (s *noticeMaker) within(at string, d *wire.DeliverForm) time.Duration {
	if d.Within == "" {
		s.add(wire.CodeInvalidBody, at+"within", "strategy timed needs within")
		return 0
	}
	within, err := api.ParseSpan(d.Within)
	switch {
	case err != nil:
		s.add(wire.CodeInvalidBody, at+"within", err.Error())
	case within < deliver.LeastWithin || within > deliver.MostWithin:
		s.add(wire.CodeInvalidBody, at+"within", "from 1s to 30d")
	}
	return within
}

// newSending makes the noticeMaker of a request, with the sender, the key and a hash of the request. newSending refuses
// an invalid key, and a warehouse that the token does not allow. A request without a key cannot be repeated.
func (h *Handlers) newSending(ctx context.Context, in *sendInput) (*noticeMaker, *wire.Problem) {
	who := auth.From(ctx)
	for i := range in.Body.Notices {
		if prob := api.InWarehouse(who, in.Body.Notices[i].Warehouse); prob != nil && api.IsName(in.Body.Notices[i].Warehouse) {
			prob.Errors = []wire.Fault{{Location: "body.notices[" + strconv.Itoa(i) + "].warehouse", Message: prob.Detail}}
			return nil, prob
		}
	}
	if prob := api.CheckIdempotencyKey(in.Key); prob != nil {
		return nil, prob
	}
	s := h.newMaker(who)
	s.key = cmp.Or(in.Key, rand.Text())
	var err error
	if s.episode, err = s.digest(&in.Body); err != nil {
		return nil, api.InternalProblem()
	}
	return s, nil
}

// newMaker makes a noticeMaker for a request at this time.
func (h *Handlers) newMaker(who *auth.Identity) *noticeMaker {
	s := &noticeMaker{who: who, targets: h.deps.Sends.Targets, addresses: h.deps.Sends.Addresses, now: time.Now(), bound: map[string]typeWords{}}
	if h.deps.Sends.Now != nil {
		s.now = h.deps.Sends.Now()
	}
	s.now = s.now.UTC().Truncate(time.Microsecond)
	return s
}

// digest returns a hash of the request and its content. The notices carry the hash as their episode. So a repeated
// request is recognized, and a different request under the same key is refused.
func (s *noticeMaker) digest(form *wire.SendForm) (string, error) {
	content, err := json.Marshal(form) // Members are in a fixed order, and numbers as they were written.
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, part := range []string{s.who.Subject, s.key, string(content)} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return `"s_` + base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16]) + `"`, nil
}
