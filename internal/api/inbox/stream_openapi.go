package inbox

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
)

// streamOperation describes GET /notices/stream.
func streamOperation(doc *huma.OpenAPI) *huma.Operation {
	poll := pollOperation(doc)
	parameters := make([]*huma.Param, 0, len(poll.Parameters))
	for _, p := range poll.Parameters {
		switch p.Name {
		case "warehouse", "subscriber", "after", "since", "type", "Accept-Language":
			parameters = append(parameters, p)
		}
	}
	parameters = append(parameters, &huma.Param{
		Name: "Last-Event-ID", In: "header", Description: "the id of the last event; it wins over after and since", Schema: api.TextSchema(""),
	})
	return &huma.Operation{
		OperationID: "stream-notices", Method: http.MethodGet, Path: api.Base + "/notices/stream", Tags: []string{"notices"},
		Summary: "Stream the notices of some subscribers in one warehouse",
		Description: "Server-sent events: first what a poll would give, then all that follows. notice has a notice, change says that the user has read or acked one, " +
			"reset that a fresh window of the last three days begins (resetReason says why, missed how many notices will not come any more), unread how many notices are unread, end why the server ends the stream. " +
			"The id of an event is a cursor: with the last one as Last-Event-ID (which browsers send by themselves) or as after, of a stream or of a poll, nothing is missed " +
			"and nothing comes twice. A comment comes every 15 s. A client that does not read is cut off.",
		Parameters: parameters,
		Responses: map[string]*huma.Response{"200": {
			Description: "events, until the client leaves",
			Content:     map[string]*huma.MediaType{string(api.MediaEvents): {Schema: &huma.Schema{Type: huma.TypeString}, Example: streamExample}},
		}},
	}
}

const streamExample = `retry: 2718

id: AjO1…
event: notice
data: {"id":"n_…","type":"REP_NOTICE",…}

id: AjO1…
event: unread
data: {"unread":1,"unreadMore":false}

`
