package api

import (
	"io"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"tallyman/internal/notice"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

// newOperations sets up the OpenAPI library on the router, with the forms and problems of package wire and without the
// library's own pages.
func newOperations(routes *router, version string, ours ...func(huma.Context, func(huma.Context))) huma.API {
	registry := huma.NewMapRegistry("#/components/schemas/", schemaName)
	for from, to := range map[reflect.Type]reflect.Type{
		reflect.TypeFor[huma.ErrorModel]():  reflect.TypeFor[wire.Problem](),
		reflect.TypeFor[notice.View]():      reflect.TypeFor[notice.ViewForm](),
		reflect.TypeFor[notice.DataForm]():  reflect.TypeFor[map[string]any](),
		reflect.TypeFor[wire.AuditState]():  reflect.TypeFor[stateSchema](),
		reflect.TypeFor[wire.Payload]():     reflect.TypeFor[payloadSchema](),
		reflect.TypeFor[wire.SendData]():    reflect.TypeFor[sendDataSchema](),
		reflect.TypeFor[wire.ResetReason](): reflect.TypeFor[resetReasonSchema](),
	} {
		registry.RegisterTypeAlias(from, to)
	}
	jsonFormat := huma.Format{Marshal: encodeJSON, Unmarshal: decodeJSON}
	xmlFormat := huma.Format{Marshal: encodeXML, Unmarshal: refuseXML}
	operations := humago.New(routes, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI:    "3.1.0",
			Info:       apiInfo(version),
			Servers:    []*huma.Server{{URL: "/", Description: "the node that this document comes from"}},
			Tags:       apiTags(),
			Components: &huma.Components{Schemas: registry},
		},
		Formats: map[string]huma.Format{ // The short names are for media types that end in +json and +xml.
			string(MediaJSON): jsonFormat, "json": jsonFormat, string(MediaXML): xmlFormat, string(MediaTextXML): xmlFormat, "xml": xmlFormat,
		},
		DefaultFormat: string(MediaJSON),
		Transformers:  []huma.Transformer{typed, problems},
	})
	operations.UseMiddleware(append([]func(huma.Context, func(huma.Context)){permitted, negotiated, strictQuery}, ours...)...)
	return operations
}

func encodeJSON(w io.Writer, v any) error { return throughBuffer(w, v, AppendJSON) }

func encodeXML(w io.Writer, v any) error { return throughBuffer(w, v, appendXML) }

// refuseXML is never called, because checkedBody converts a body in XML to JSON.
func refuseXML([]byte, any) error { return huma.ErrUnknownContentType }

// negotiated chooses the media type of the answer by Negotiate, because the library understands neither */* nor q=0.
func negotiated(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	m, ok := Negotiate(r)
	if !ok {
		WriteProblem(w, NotAcceptable(), MediaJSON)
		return
	}
	r.Header.Set("Accept", string(m))
	if len(r.Header["Accept-Language"]) > 1 { // The library only reads the first line.
		r.Header.Set("Accept-Language", HeaderValue(r, "Accept-Language"))
	}
	w.Header()["Cache-Control"] = noStore
	next(ctx)
}

// strictQuery refuses unknown parameters, repeated parameters that are not lists, and parameters of query and path that
// violate the policy of texts.
func strictQuery(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	known, list := map[string]bool{}, map[string]bool{}
	for _, p := range ctx.Operation().Parameters {
		if p.In == "query" {
			known[p.Name] = true
			list[p.Name] = p.Schema.Type == huma.TypeArray
		}
	}
	seen := map[string]bool{}
	prob := Params(r.URL.RawQuery, func(name, _ string) *wire.Problem {
		switch {
		case !known[name]:
			return UnknownParameter(name)
		case seen[name] && !list[name]:
			return RepeatedParameter(name)
		}
		seen[name] = true
		return nil
	})
	for _, p := range ctx.Operation().Parameters {
		if prob == nil && p.In == "path" {
			prob = checkText("path."+p.Name, r.PathValue(p.Name), policy.Line)
		}
	}
	if prob != nil {
		WriteProblem(w, prob, ProblemMedia(r))
		return
	}
	next(ctx)
}

// typed sets the same Content-Type as the plain handlers, with the charset of XML.
func typed(ctx huma.Context, _ string, v any) (any, error) {
	r, w := humago.Unwrap(ctx)
	if h := w.Header(); h["Content-Type"] != nil {
		h["Content-Type"] = contentTypes[ProblemMedia(r)]
	}
	return v, nil
}

// problems converts errors of the library to problems, and adds the id of the request to every problem.
func problems(ctx huma.Context, _ string, v any) (any, error) {
	prob, ok := v.(*wire.Problem)
	if model, isModel := v.(*huma.ErrorModel); isModel {
		prob, ok = fromModel(model), true
	}
	if !ok {
		return v, nil
	}
	r, w := humago.Unwrap(ctx)
	w.Header().Set("Content-Type", prob.ContentType(string(ProblemMedia(r))))
	prob.RequestID = w.Header().Get(requestIDHeader)
	return prob, nil
}

// fromModel converts an error of the library to a problem. fromModel leaves out the values that the client sent.
func fromModel(model *huma.ErrorModel) *wire.Problem {
	prob := wire.NewProblem(model.Status, modelCode(model.Status), model.Detail)
	if prob.Code == wire.CodeInternal {
		return InternalProblem()
	}
	for _, e := range model.Errors {
		prob.Errors = append(prob.Errors, wire.Fault{Location: e.Location, Message: e.Message})
	}
	if len(prob.Errors) > 0 {
		prob.Detail = prob.Errors[0].Message
		if at := prob.Errors[0].Location; at != "" {
			prob.Detail = at + ": " + prob.Detail
		}
	}
	return prob
}

func modelCode(status int) wire.Code {
	switch status {
	case http.StatusBadRequest:
		return wire.CodeMalformedBody
	case http.StatusRequestTimeout:
		return wire.CodeBodyTimeout
	case http.StatusRequestEntityTooLarge:
		return wire.CodeBodyTooLarge
	case http.StatusUnsupportedMediaType:
		return wire.CodeUnsupportedMediaType
	case http.StatusUnprocessableEntity:
		return wire.CodeInvalidBody
	}
	return wire.CodeInternal
}
