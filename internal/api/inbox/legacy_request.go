package inbox

import (
	"encoding/xml"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/wire"
	"tallyman/sinks/inbox/page"
)

// The bounds of the body of a request by an old client.
const (
	maxLegacyBody = 64 << 10
	legacyWithin  = 10 * time.Second // Time for the body to arrive.
)

// legacyRequest is the request of an old client, with the parameter names of the old web service. Parameters can be in
// the query, in a form and in XML.
type legacyRequest struct {
	pollRequest

	last     int64 // lastFetchTimeStamp: the client has all notices up to this time, in ms since 1970; 0 = none.
	withRead bool
	seen     seenParams
}

// legacyExchange is the state of answering one request of an old client.
type legacyExchange struct {
	exchange

	last int64 // As in legacyRequest.
}

// newLegacyExchange reads the request. The answer is always XML, because old clients send any Accept header that their
// library chooses. The answer is text/xml if Accept asks for text/xml.
func newLegacyExchange(w http.ResponseWriter, r *http.Request, started time.Time) (*legacyExchange, *wire.Problem) {
	var q legacyRequest
	prob := api.Params(r.URL.RawQuery, q.set)
	if prob == nil && r.Method == http.MethodPost {
		prob = q.readBody(w, r)
	}
	if prob == nil {
		prob = q.finish(auth.From(r.Context()))
	}
	if prob != nil {
		return nil, prob
	}
	x := &legacyExchange{
		exchange: exchange{
			pollRequest: q.pollRequest, media: api.MediaXML, language: api.HeaderValue(r, "Accept-Language"), known: api.HeaderValue(r, "If-None-Match"),
			deadline: started.Add(q.wait),
		},
		last: q.last,
	}
	if m, ok := api.Negotiate(r); ok && m == api.MediaTextXML {
		x.media = m
	}
	x.this = identify(&x.Query, x.media, x.language)
	return x, nil
}

// set sets one parameter. set ignores unknown parameters, because old clients send some that nobody reads, such as
// clientProperty.
func (q *legacyRequest) set(name, value string) *wire.Problem {
	switch name {
	case "whId":
		return q.setWarehouse(&q.seen, name, value)
	case "subscriberIdList":
		return q.addLegacy(value, "user:")
	case "roleIdList":
		return q.addLegacy(value, "role:")
	case "lastFetchTimeStamp":
		if prob := q.setSince(&q.seen, name, value); prob != nil {
			return prob
		}
		q.last, q.Since = q.Since, since(q.Since)
	case "includeRead":
		return q.seen.flag(name, value, &q.withRead)
	case "wait":
		return q.setWait(&q.seen, value)
	}
	return nil
}

// since returns the first millisecond after last, or 0 for 0. last is the last millisecond that the client has seen, or
// 0 if the client has seen none.
func since(last int64) int64 {
	if last == 0 {
		return 0
	}
	return last + 1
}

// addLegacy adds a list such as 1,2,role:keeper. addLegacy can be called more than once, because some client libraries
// repeat the parameter for each entry. A bare id gets the kind as its prefix.
func (q *legacyRequest) addLegacy(list, kind string) *wire.Problem {
	for id := range strings.SplitSeq(list, ",") {
		id = strings.TrimSpace(id)
		if id != "" && !strings.HasPrefix(id, "user:") && !strings.HasPrefix(id, "role:") {
			id = kind + id
		}
		if prob := q.addSubscriber(id); prob != nil {
			return prob
		}
	}
	return nil
}

// finish checks the warehouse and the subscribers against the token, and completes the query.
func (q *legacyRequest) finish(who *auth.Identity) *wire.Problem {
	var prob *wire.Problem
	if q.Warehouse, q.Subscribers, prob = own(who, legacyNames, q.Warehouse, q.Subscribers); prob != nil {
		return prob
	}
	q.Subscribers = api.SortedUnique(q.Subscribers)
	q.Limit, q.Plain, q.Unread = page.MaxLimit, true, !q.withRead
	return nil
}

// readBody sets the parameters from a form or from XML.
func (q *legacyRequest) readBody(w http.ResponseWriter, r *http.Request) *wire.Problem {
	text, prob := api.ReadBody(w, r, maxLegacyBody, legacyWithin)
	if prob != nil || len(strings.TrimSpace(string(text))) == 0 {
		return prob
	}
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case media == "application/x-www-form-urlencoded":
		return api.Params(strings.TrimSpace(string(text)), q.set)
	case media == string(api.MediaXML), media == string(api.MediaTextXML), strings.HasSuffix(media, "+xml"):
		return q.readXML(string(text))
	}
	return wire.NewProblem(http.StatusUnsupportedMediaType, wire.CodeUnsupportedMediaType,
		"send the parameters in the query, as application/x-www-form-urlencoded, or as application/xml")
}

// readXML sets a parameter for each element inside the root. Elements inside a parameter are the entries of a list.
func (q *legacyRequest) readXML(text string) *wire.Problem {
	d := xml.NewDecoder(strings.NewReader(text)) //nolint:gosec // Only tokens are read, and a DOCTYPE with its entities is refused.
	var name string
	var entries []string
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return malformedXML(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if depth++; depth == 2 {
				name, entries = token.Name.Local, nil
			}
		case xml.CharData:
			if entry := strings.TrimSpace(string(token)); depth >= 2 && entry != "" {
				entries = append(entries, entry)
			}
		case xml.EndElement:
			if depth--; depth == 1 {
				if prob := api.Param(name, strings.Join(entries, ","), q.set); prob != nil {
					return prob
				}
			}
		case xml.Directive:
			return wire.NewProblem(http.StatusBadRequest, wire.CodeMalformedBody, "the XML has a directive such as a DOCTYPE: leave it out")
		}
	}
}

func malformedXML(err error) *wire.Problem {
	return wire.NewProblem(http.StatusBadRequest, wire.CodeMalformedBody, "the body is not XML: "+err.Error())
}
