package inbox

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
	"tallyman/sinks/inbox/page"
)

// maxSince is the largest value of since, in ms. Redis keeps scores in µs as doubles, which are exact up to 2^53.
const maxSince = (1<<53 - 1) / 1000

// The bounds of the lists in a request.
const (
	maxSubscribers = page.MaxSubscribers
	maxTypes       = 100
)

// The names of the parameters for the warehouse and the subscribers.
var (
	pollNames   = [2]string{"warehouse", "subscriber"}
	legacyNames = [2]string{"whId", "subscriberIdList"}
)

// pollRequest is the parsed query of a poll.
type pollRequest struct {
	page.Query
	wait time.Duration
}

// parsePoll parses the query of GET /notices, and checks it against the token.
func parsePoll(who *auth.Identity, raw string) (pollRequest, *wire.Problem) {
	p := pollRequest{Query: page.Query{Limit: page.DefaultLimit}}
	var seen seenParams
	if prob := api.Params(raw, func(name, value string) *wire.Problem { return p.set(&seen, name, value) }); prob != nil {
		return p, prob
	}
	return p, p.finish(who)
}

// seenParams records the parameters so far that may come only once, one bit for each.
type seenParams uint8

// again tells whether the parameter of the bit came before, and records it.
func (s *seenParams) again(bit seenParams) bool {
	before := *s
	*s |= bit
	return before&bit != 0
}

// set sets one parameter.
func (p *pollRequest) set(seen *seenParams, name, value string) *wire.Problem {
	switch name {
	case "warehouse":
		return p.setWarehouse(seen, name, value)
	case "subscriber":
		return p.addSubscriber(value)
	case "type":
		return p.addType(value)
	case "after":
		if seen.again(2) {
			return api.RepeatedParameter(name)
		}
		p.After = value
	case "since":
		return p.setSince(seen, name, value)
	case "limit":
		return p.setLimit(seen, value)
	case "wait":
		return p.setWait(seen, value)
	case "unread":
		return p.setUnread(seen, value)
	default:
		return api.UnknownParameter(name)
	}
	return nil
}

func (p *pollRequest) setWarehouse(seen *seenParams, name, value string) *wire.Problem {
	if seen.again(1) {
		return api.RepeatedParameter(name)
	}
	if value != "" && !api.IsName(value) {
		return api.BadWarehouse(http.StatusBadRequest, name, value)
	}
	p.Warehouse = value
	return nil
}

func (p *pollRequest) addSubscriber(value string) *wire.Problem {
	switch {
	case value == "":
		return nil
	case !isInbox(value):
		return api.BadSubscriber(http.StatusBadRequest, "subscriber", value)
	case len(p.Subscribers) == maxSubscribers:
		return wire.NewProblem(http.StatusBadRequest, wire.CodeBadSubscriber,
			"more than "+strconv.Itoa(maxSubscribers)+" subscribers in one poll")
	}
	p.Subscribers = append(p.Subscribers, value)
	return nil
}

func (p *pollRequest) addType(value string) *wire.Problem {
	switch {
	case value == "":
		return nil
	case !api.IsName(value):
		return wire.NewProblem(http.StatusBadRequest, wire.CodeBadType, "type "+policy.Quote(value)+" is not the code of a type")
	case len(p.Types) == maxTypes:
		return wire.NewProblem(http.StatusBadRequest, wire.CodeBadType, "more than "+strconv.Itoa(maxTypes)+" types in one poll")
	}
	p.Types = append(p.Types, value)
	return nil
}

func (p *pollRequest) setSince(seen *seenParams, name, value string) *wire.Problem {
	if seen.again(4) {
		return api.RepeatedParameter(name)
	}
	if value == "" {
		return nil
	}
	ms, err := strconv.ParseInt(value, 10, 64)
	if err != nil || ms < 0 || ms > maxSince {
		return wire.NewProblem(http.StatusBadRequest, wire.CodeBadSince, name+" "+policy.Quote(value)+" is not a time in milliseconds since 1970")
	}
	p.Since = ms
	return nil
}

func (p *pollRequest) setLimit(seen *seenParams, value string) *wire.Problem {
	if seen.again(8) {
		return api.RepeatedParameter("limit")
	}
	if value == "" {
		return nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > page.MaxLimit {
		return wire.NewProblem(http.StatusBadRequest, wire.CodeBadLimit,
			"limit "+policy.Quote(value)+" is not a number from 1 to "+strconv.Itoa(page.MaxLimit))
	}
	p.Limit = n
	return nil
}

func (p *pollRequest) setUnread(seen *seenParams, value string) *wire.Problem {
	return seen.flag("unread", value, &p.Unread)
}

// flag reads a parameter that is true or false. A request has at most one such parameter.
func (s *seenParams) flag(name, value string, to *bool) *wire.Problem {
	if s.again(32) {
		return api.RepeatedParameter(name)
	}
	switch value {
	case "", "false":
	case "true":
		*to = true
	default:
		return api.BadParameter(name + " " + policy.Quote(value) + " is neither true nor false")
	}
	return nil
}

func (p *pollRequest) setWait(seen *seenParams, value string) *wire.Problem {
	if seen.again(16) {
		return api.RepeatedParameter("wait")
	}
	if value == "" {
		return nil
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 || d > api.MaxWait {
		return wire.NewProblem(http.StatusBadRequest, wire.CodeBadWait, "wait "+policy.Quote(value)+" is not a duration from 0s to 60s, such as 25s")
	}
	p.wait = min(d, api.LongestHold)
	return nil
}

// finish checks the whole request and its inboxes, and sorts lists as page.Query requires.
func (p *pollRequest) finish(who *auth.Identity) *wire.Problem {
	if p.After != "" && p.Since != 0 {
		return api.BadParameter("after and since exclude each other")
	}
	var prob *wire.Problem
	if p.Warehouse, p.Subscribers, prob = own(who, pollNames, p.Warehouse, p.Subscribers); prob != nil {
		return prob
	}
	p.Subscribers = api.SortedUnique(p.Subscribers)
	p.Types = api.SortedUnique(p.Types)
	return nil
}

// own returns the warehouse and the subscribers that the request names, or else the warehouse and the subscribers of
// the token. own refuses a warehouse or a subscriber that the token does not allow. names are the names of the two
// parameters, for problems.
func own(who *auth.Identity, names [2]string, warehouse string, subscribers []string) (string, []string, *wire.Problem) {
	warehouse, prob := api.OwnWarehouse(who, names[0], warehouse)
	if prob != nil {
		return "", nil, prob
	}
	if len(subscribers) == 0 {
		if !who.Has(auth.Client) || len(who.Subscribers) == 0 {
			return "", nil, api.MissingParameter(names[1])
		}
		if len(who.Subscribers) > maxSubscribers {
			return "", nil, wire.NewProblem(http.StatusBadRequest, wire.CodeBadSubscriber, "your token has "+strconv.Itoa(len(who.Subscribers))+
				" subscribers, and a request can have at most "+strconv.Itoa(maxSubscribers)+"; name the ones that you want in "+names[1])
		}
		return warehouse, slices.Clone(who.Subscribers), nil
	}
	for _, s := range subscribers {
		if !mayRead(who, s) {
			return "", nil, api.Denied(wire.CodeSubscriberDenied, "your token does not have the inbox of "+s+api.Yours(who.Subscribers))
		}
	}
	return warehouse, subscribers, nil
}

// mayRead tells whether the caller may read and mark notices of the subscriber.
func mayRead(who *auth.Identity, subscriber string) bool {
	if strings.HasPrefix(subscriber, "shadow:") {
		return who.Has(api.Onlookers...)
	}
	return who.ForOthers() || who.Has(auth.Client) && slices.Contains(who.Subscribers, subscriber)
}

// isInbox tells whether a text names an inbox: a subscriber, or shadow:<rule id> for the inbox of a rule in shadow.
func isInbox(s string) bool {
	rule, ok := strings.CutPrefix(s, "shadow:")
	return ok && api.IsName(rule) || api.IsSubscriber(s)
}
