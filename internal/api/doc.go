// Package api is the core of Tallyman's HTTP side: the router, the middleware, problems, limits, and who may do what. An API is made of Deps and of
// rooms: the packages below this one that serve things, such as inbox and queues.
//
// A Room has its own Deps and registers its own Operations. Most are operations of the library huma: their parameters, bodies and documents come from
// Go types. Polls and streams are plain handlers, because they are hot, and stand in the same OpenAPI document. An operation that the table Access does
// not have is not served: the program does not start.
//
// Rooms use what this package exports for them: problems (problem.go), parameters (params.go), the forms of answers (answer.go, negotiate.go), and what
// is the caller's (own.go). The package itself serves health, metrics and the document, and asks no ledger.
package api
