// Package api is Tallyman's HTTP side: clients poll their notices, operators keep types and subscriptions and look
// at the state. api.go says what it needs, routes.go what it serves, notices.go is the path that matters.
//
// The management operations are huma operations: their parameters, bodies and documents come from Go types. The
// polls are plain handlers, because they are hot, and add themselves to the same OpenAPI document.
package api
