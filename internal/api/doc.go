// Package api is the core of Tallyman's HTTP API: the router, the middleware, problems, limits, and the access table.
// The packages below it, such as inbox and queues, are the rooms: each one serves a part of the API.
//
// A Room has its own Deps and registers its own Operations. Most operations use the library huma, which derives
// parameters, bodies and the OpenAPI document from Go types. Polls and streams are plain handlers, because they carry
// most of the load; the OpenAPI document has them, too. The program does not start with an operation that the table
// Access does not have.
//
// Rooms use the exports of this package: problems (problem.go), parameters (params.go), the media types of answers
// (answer.go, negotiate.go), and the rules about the caller's warehouses (own.go). The package itself serves health,
// metrics and the document, and does not use the ledger.
package api
