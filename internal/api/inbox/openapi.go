package inbox

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/wire"
)

// pollOperation describes GET /notices.
func pollOperation(doc *huma.OpenAPI) *huma.Operation {
	schema := api.SchemaOf[wire.PageForm](doc)
	return &huma.Operation{
		OperationID: "poll-notices", Method: http.MethodGet, Path: api.Base + "/notices", Tags: []string{"notices"},
		Summary: "Poll the notices of some subscribers in one warehouse",
		Description: "Poll first without a cursor, then send the cursor of the last answer as after: no notice is missed and none comes twice. " +
			"Send the answer's ETag as If-None-Match, too: while nothing is new, the answer is a 304. With wait the server answers only when " +
			"something is new or the wait is over. With reset the cursor is no longer valid, and the page has the last three days: resetReason says why, " +
			"and missed, where it is known, has the number of notices that will not come any more.",
		Parameters: []*huma.Param{
			api.QueryParam("warehouse", "the warehouse. A token with one warehouse can leave it out", api.NameSchema()),
			api.QueryParam("subscriber", "user:<id>, role:<id>, or shadow:<rule> for the notices of a rule in shadow; repeat it for more than one. By default the user and roles of the token",
				&huma.Schema{Type: huma.TypeArray, Items: api.TextSchema("^(user|role|shadow):[A-Za-z0-9][A-Za-z0-9_.@-]{0,127}$"), MaxItems: new(maxSubscribers)}),
			api.QueryParam("after", "cursor of the last answer", api.TextSchema("")),
			api.QueryParam("since", "instead of after: only notices that were delivered at this time or later, in ms since 1970. Without after and since, the last three days", api.IntegerSchema(0, maxSince, nil)),
			api.QueryParam("limit", "notices in a page", api.IntegerSchema(1, 200, 50)),
			api.QueryParam("wait", "wait for something new for at most this time: a duration up to 60s, such as 25s. The server answers after 55s at the latest", api.TextSchema("")),
			api.QueryParam("type", "only notices of this type, by code or id; repeat it for more than one",
				&huma.Schema{Type: huma.TypeArray, Items: api.NameSchema(), MaxItems: new(maxTypes)}),
			api.QueryParam("unread", "true: only notices that the user among the subscribers has not read", &huma.Schema{Type: huma.TypeBoolean}),
			{Name: "Accept-Language", In: "header", Description: "language of titles and bodies", Schema: api.TextSchema("")},
			{Name: "If-None-Match", In: "header", Description: "ETag of the last answer", Schema: api.TextSchema("")},
		},
		Responses: map[string]*huma.Response{
			"200": {
				Description: "a page, oldest first; in XML " + pageXML, Headers: pollHeaders(),
				Content: api.BothForms(string(api.MediaJSON), string(api.MediaXML), schema),
			},
			"304": {Description: "nothing is new since the last answer", Headers: pollHeaders()},
		},
	}
}

// pageXML and packXML are examples of answers in XML. A schema cannot show which members are attributes.
const (
	pageXML = `<notices cursor="…" unread="3" more="false" reset="false"><notice><id>n_…</id><type>REP_NOTICE</type>…` +
		`<data><bin>A-01</bin><sku>S1</sku><qty>-3</qty></data>…</notice><change id="n_…" kind="read"></change></notices>`
	packXML = `<packNotificationVo><whId>119240</whId><lastFetchTimeStamp>1780272600000</lastFetchTimeStamp>` +
		`<unreadCount>1</unreadCount><notifications><notification><id>n_…</id><title>…</title><body>…</body>` +
		`<createTime>1780272600000</createTime><expireTime>86400</expireTime><whId>119240</whId>` +
		`<messageTypeId>124719</messageTypeId></notification></notifications></packNotificationVo>`
)

func pollHeaders() map[string]*huma.Header {
	return map[string]*huma.Header{
		"ETag":          {Schema: api.TextSchema(""), Description: "send it as If-None-Match with the next poll"},
		"Vary":          {Schema: api.TextSchema("")},
		"Cache-Control": {Schema: api.TextSchema("")},
	}
}

// legacyOperation describes GET /legacy/listNotifications.
func legacyOperation(doc *huma.OpenAPI) *huma.Operation {
	list := &huma.Schema{Type: huma.TypeArray, Items: api.TextSchema("")}
	return &huma.Operation{
		OperationID: "legacy-list-notifications", Method: http.MethodGet, Path: api.LegacyPath, Tags: []string{"notices"},
		Summary: "Poll as clients of the old web service do",
		Description: "Answers and errors are always XML, as text/xml where Accept asks for that. Poll with the largest createTime that you have seen, or with the lastFetchTimeStamp of the " +
			"last answer: each notice comes once. createTime is the time of delivery. A notice comes when the millisecond of its delivery is over. Unknown parameters are ignored.",
		Parameters: []*huma.Param{
			api.QueryParam("whId", "the warehouse. A token with one warehouse can leave it out", api.NameSchema()),
			api.QueryParam("subscriberIdList", "ids separated by commas: a bare id is a user, role:x is a role; may be repeated. By default the user and roles of the token", list),
			api.QueryParam("roleIdList", "ids of roles separated by commas; may be repeated", list),
			api.QueryParam("lastFetchTimeStamp", "only notices that were delivered after this time, in ms since 1970. By default the last three days", api.IntegerSchema(0, maxSince, nil)),
			api.QueryParam("includeRead", "true: also notices that the user among the subscribers has read", &huma.Schema{Type: huma.TypeBoolean}),
			api.QueryParam("wait", "wait for something new for at most this time: a duration up to 60s, such as 25s", api.TextSchema("")),
			{Name: "Accept-Language", In: "header", Description: "language of titles and bodies", Schema: api.TextSchema("")},
			{Name: "If-None-Match", In: "header", Description: "ETag of the last answer", Schema: api.TextSchema("")},
		},
		Responses: map[string]*huma.Response{
			"200": {
				Description: "the new notices, oldest first: " + packXML, Headers: pollHeaders(),
				Content: map[string]*huma.MediaType{string(api.MediaXML): {Schema: api.SchemaOf[wire.PackForm](doc)}},
			},
			"304": {Description: "nothing is new since the last answer", Headers: pollHeaders()},
		},
	}
}

// legacyPostOperation describes POST /legacy/listNotifications, which also accepts the parameters in a body.
func legacyPostOperation(doc *huma.OpenAPI) *huma.Operation {
	op := legacyOperation(doc)
	op.OperationID, op.Method = "legacy-post-notifications", http.MethodPost
	op.Summary = "Poll as clients of the old web service do, with parameters in a form or in XML"
	text := &huma.MediaType{Schema: api.TextSchema("")}
	op.RequestBody = &huma.RequestBody{
		Description: "the parameters: a form, or XML such as <request><whId>119240</whId><subscriberIdList>1,2</subscriberIdList></request>",
		Content:     map[string]*huma.MediaType{"application/x-www-form-urlencoded": text, string(api.MediaXML): text, string(api.MediaTextXML): text},
	}
	return op
}

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
		Name: "Last-Event-ID", In: "header", Description: "id of the last event. It is used instead of after and since", Schema: api.TextSchema(""),
	})
	return &huma.Operation{
		OperationID: "stream-notices", Method: http.MethodGet, Path: api.Base + "/notices/stream", Tags: []string{"notices"},
		Summary: "Stream the notices of some subscribers in one warehouse",
		Description: "Server-sent events: first the notices that a poll would give, then all that follow. The event notice has a notice. change says that the user has read or acked a notice. " +
			"reset says that a new window of the last three days begins; its resetReason says why, and missed has the number of notices that will not come any more. " +
			"unread has the number of unread notices. end says why the server ends the stream. " +
			"The id of an event is a cursor. Send the last id as Last-Event-ID (browsers do so by themselves), or as after of a stream or a poll: no notice is missed " +
			"and none comes twice. A comment comes every 15 s. The server disconnects a client that does not read.",
		Parameters: parameters,
		Responses: map[string]*huma.Response{"200": {
			Description: "events, until the client disconnects",
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
