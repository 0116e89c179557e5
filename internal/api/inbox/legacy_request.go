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
	legacyWithin  = 10 * time.Second // the time in which the body arrives
)

// legacyRequest is what an old client asks, with the names that the old web service had. Parameters may stand in the address, in a form and in XML.
type legacyRequest struct {
	pollRequest

	last     int64 // lastFetchTimeStamp: the client has what was delivered up to then, ms since 1970; 0 = it has nothing
	withRead bool
	seen     seenParams
}

// legacyExchange is one request of an old client being answered.
type legacyExchange struct {
	exchange

	last int64 // see legacyRequest
}

// newLegacyExchange reads the request. Answers are always XML, as text/xml where Accept asks for that: old clients send whatever their library does as Accept.
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

// set takes one parameter. Old clients send more than anybody reads, such as clientProperty.
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

// since is the first millisecond that a client has not seen that has seen all up to last; 0 = it has seen none.
func since(last int64) int64 {
	if last == 0 {
		return 0
	}
	return last + 1
}

// addLegacy takes a list such as 1,2,role:keeper, or a part of one: libraries of old clients repeat the name for each entry. A bare id gets the kind in
// front.
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

// finish settles whose inboxes the request is about.
func (q *legacyRequest) finish(who *auth.Identity) *wire.Problem {
	var prob *wire.Problem
	if q.Warehouse, q.Subscribers, prob = own(who, legacyNames, q.Warehouse, q.Subscribers); prob != nil {
		return prob
	}
	q.Subscribers = api.SortedUnique(q.Subscribers)
	q.Limit, q.Plain, q.Unread = page.MaxLimit, true, !q.withRead
	return nil
}

// readBody takes the parameters of a form or of XML.
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
		"parameters come in the address, as application/x-www-form-urlencoded, or as application/xml")
}

// readXML takes each element inside the root as a parameter. Elements inside a parameter are entries of a list.
func (q *legacyRequest) readXML(text string) *wire.Problem {
	d := xml.NewDecoder(strings.NewReader(text)) //nolint:gosec // tokens alone are read; entities of a DOCTYPE are refused
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
	return wire.NewProblem(http.StatusBadRequest, wire.CodeMalformedBody, "the body is no XML: "+err.Error())
}
