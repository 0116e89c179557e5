// Package api is the core of Tallyman's HTTP API: the router, the middleware, problems, limits, and the access table.
// Most packages below it, such as inbox and queues, are rooms. Each room serves a part of the API.
//
// A Room has its own Deps and registers its own Operations. Most operations use the library huma, which derives
// parameters, bodies and the OpenAPI document from Go types. Polls and streams are plain handlers, because they carry
// most of the load; the OpenAPI document has them, too. The program does not start if the table Access lacks an
// operation.
//
// Rooms use the exports of this package: problems (problem.go), parameters (params.go), the media types of answers
// (answer.go, negotiate.go), and the rules about the caller's warehouses (own.go). The package itself serves health,
// metrics and the document, and has no ledger among its dependencies.
package api
