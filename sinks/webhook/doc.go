// Package webhook posts notices to an HTTP server of somebody else's.
//
// A call is a POST with the JSON of a notice, or of several, signed as Standard Webhooks says. The status of the answer decides; its
// text only explains. What the server says of the notice (400, 413, 415, 422) is for good. Everything else that is not a success is
// about the endpoint: a person mends that, and then everything must arrive.
//
//	settings.go   what a site writes, and what a webhook is made of
//	webhook.go    a call, with the request's body, id and signature
//	recipients.go whom a notice is for, in its JSON
//	request.go    calls with a form of their own, and their tokens
//	answer.go     what the answer means, also where there is none
//	transport.go  connections, guarded, with certificates that are read anew when they change
package webhook
