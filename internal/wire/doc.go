// Package wire has the forms in which Tallyman speaks over HTTP: what clients send and get, in JSON and in XML, with the codes of its errors.
// The API fills and reads them, the command line prints them, and the OpenAPI document is made of them.
//
// A form promises its names: members, elements, attributes and enum values are part of the API, and change as docs/reference/api.md says. The types of one
// thing that is served stand in one file: rules.go, queues.go, deliveries.go; operate.go has silences, subscriptions, tokens and the audit. Problem and Fault are the errors, Code their stable names.
//
// A form knows how it is encoded, and nothing else. Forms are made and read by those who have the domain's types: internal/api and the packages
// below it. Package wire imports leaves alone, neither the ledger nor the OpenAPI library.
package wire
