package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"tallyman/internal/delivery"
	"tallyman/sinks"
	"tallyman/sinks/guard"
	"tallyman/sinks/request"
	"tallyman/sinks/scrub"
)

// shownText is the number of bytes of an answer's text that an error shows.
const shownText = 200

// shownCode is the number of bytes of an answer's code that an error shows.
const shownCode = 40

// longestWait is the longest pause that a server can ask for with Retry-After.
const longestWait = time.Hour

// answer is the answer of a server.
type answer struct {
	status  int
	meaning request.Meaning // the meaning of its code by the rules of the site
	text    []byte          // set for a call with a form of its own
	err     error           // nil after a success
	later   time.Duration   // the pause that the server asks for; 0 = none
}

// understand reads an answer. text has the bytes of the body that had arrived when the reading ended, so it may be
// incomplete.
func (w *Webhook) understand(resp *http.Response, m *message, text []byte) answer {
	a := answer{status: resp.StatusCode}
	success, code := a.status/100 == 2, ""
	if m.own != nil {
		a.text = text
		code, a.meaning = m.own.rules.Read(text, success)
	}
	if success && (a.meaning == request.Unknown || a.meaning == request.Taken) {
		return a
	}
	said := "answered " + strings.TrimSpace(strconv.Itoa(a.status)+" "+http.StatusText(a.status))
	if a.meaning != request.Unknown {
		said += fmt.Sprintf(" with the %s %q", m.own.rules.Code, w.hiding(m).Text(code, shownCode))
	}
	if a.status/100 == 3 {
		said += ", a redirect" + leadsTo(resp) + "; Tallyman follows no redirect: set the sink's url to the new address"
	}
	scrubber := w.hiding(m)
	shown := scrubber.Text
	if len(text) == readBytes {
		shown = scrubber.Cut
	}
	if told := shown(string(text), shownText); told != "" {
		said += ": " + told
	}
	a.err = errors.New(w.host(m) + " " + said)
	if a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable {
		a.later = retryAfter(resp.Header, w.o.Now())
	}
	return a
}

// refusesToken tells whether the server refused the token of the call.
func (a answer) refusesToken() bool {
	return a.meaning == request.Renew || a.meaning == request.Unknown && a.status == http.StatusUnauthorized
}

// verdict turns the answer into a result for the deliveries of the call.
func (a answer) verdict(batch []delivery.Delivery) error {
	switch {
	case a.err == nil:
		return nil
	case a.meaning == request.Refused, a.meaning == request.Unknown && isOfNotice(a.status):
		refused := &sinks.RefusedError{Err: a.err}
		for _, d := range batch {
			refused.Seqs = append(refused.Seqs, d.Seq)
		}
		return refused
	case a.meaning == request.Unknown && a.status == http.StatusGone:
		return &sinks.GoneError{Err: a.err}
	case a.later > 0:
		return &sinks.LaterError{After: a.later, Err: a.err}
	default:
		return a.err
	}
}

// isOfNotice tells whether the status is about the notice, so that sending it again would give the same status. All
// other statuses are about the endpoint: a wrong address or token, an overload, a fault.
func isOfNotice(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return true
	default:
		return false
	}
}

// leadsTo names only the host of a redirect, because the rest of the address may be a secret.
func leadsTo(resp *http.Response) string {
	u, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || u.Host == "" {
		return ""
	}
	return fmt.Sprintf(" to %.100q", u.Scheme+"://"+u.Host)
}

// retryAfter returns the pause that the server asks for, as a number of seconds or as a date. A date is compared with
// the clock of the server, if the answer has its Date, since that clock may differ from ours.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text != "" && strings.Trim(text, "0123456789") == "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds > int64(longestWait/time.Second) { // a number with too many digits is a long pause, too
			return longestWait
		}
		return time.Duration(seconds) * time.Second
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if server, err := http.ParseTime(h.Get("Date")); err == nil {
		now = server
	}
	return min(max(until.Sub(now), 0), longestWait)
}

// shownFault is the number of bytes that an error shows of a library's message.
const shownFault = 300

// sendProgress records how far a call has come, so that an error can say what failed.
type sendProgress struct{ connected, written atomic.Bool }

func watch(ctx context.Context) (*sendProgress, context.Context) {
	p := &sendProgress{}
	return p, httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { p.connected.Store(true) },
		WroteRequest: func(info httptrace.WroteRequestInfo) { p.written.Store(info.Err == nil) },
	})
}

// broken says why there is no answer, in words that show no secret. broken drops the cause, since its text may have
// secrets. Only the end of the context is kept as a wrapped error.
func (w *Webhook) broken(ctx context.Context, p *sendProgress, m *message, cause error) error {
	where := "no connection to " + w.host(m)
	switch {
	case p.written.Load():
		where = w.host(m) + " did not answer"
	case p.connected.Load():
		where = w.host(m) + " did not take the request"
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	text := where + ": " + w.hiding(m).Text(fault(cause), shownFault)
	if errors.Is(cause, guard.ErrRefused) {
		text += "; allow_private: true of the sink allows it"
	}
	return errors.New(text)
}

// host returns the host that the message goes to.
func (w *Webhook) host(m *message) string {
	if m.own != nil {
		return m.own.URL.Host
	}
	return w.url.Host
}

// hiding returns a scrubber for everything that no error may show about the message: the secrets of the sink, the token
// of the call, and the addresses of the recipients.
func (w *Webhook) hiding(m *message) *scrub.Scrubber {
	var list []string
	if m.own != nil {
		list = m.own.secrets
	}
	for _, recipients := range m.to {
		for i := range recipients {
			list = append(list, addressesOf(&recipients[i])...)
		}
	}
	if len(list) == 0 {
		return w.scrub
	}
	return scrub.New(append(list, w.secrets...)...)
}

// fault returns the reason why a connection failed. In a network error, fault keeps the dialed address at most.
func fault(cause error) string {
	op, ok := errors.AsType[*net.OpError](cause)
	if !ok || op.Err == nil || op.Op != "dial" && op.Op != "read" && op.Op != "write" {
		return cause.Error()
	}
	if op.Op == "dial" && op.Addr != nil && !errors.Is(cause, guard.ErrRefused) {
		return fmt.Sprintf("%v (%s)", op.Err, op.Addr)
	}
	return op.Err.Error()
}
