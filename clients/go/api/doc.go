// Package api is the client that oapi-codegen makes of Tallyman's OpenAPI document, with the operations of programs: inboxes, notices that business systems
// send, queues, types and subscriptions. Package tallyman stands on it; what that does not offer is called here.
package api
