// Package wire has the forms of the HTTP API: the bodies of requests and answers, in JSON and in XML, and the codes of
// problems. The API fills and reads the forms, the command line prints them, and the OpenAPI document is generated from
// their fields and doc tags.
//
// The names in a form are a promise. Members, elements, attributes and enum values change only as docs/reference/api.md
// allows.
//
// Each file has the forms of one subject, such as rules.go, queues.go and deliveries.go. File operate.go has silences,
// subscribers, subscriptions, types, tokens and the audit. Problem and Fault are the errors. Code is the stable name of
// a problem.
//
// A form knows its encoding and nothing else. Package internal/api and the packages below it convert between forms and
// the types of the domain. Package wire imports neither the ledger nor the OpenAPI library, so that the command line
// and tests can use the forms without them.
package wire
