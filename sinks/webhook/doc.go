// Package webhook posts notices to an HTTP server of another company or team.
//
// A call is a POST with the JSON of one notice, or of several. It is signed as Standard Webhooks says. The status of
// the answer decides what happens next; its text only explains. A status about the notice (400, 413, 415, 422) is
// final: the same notice would be refused again. Every other failure is about the endpoint. A person has to repair it,
// and after that every notice must arrive.
//
//	settings.go   the settings of a site, and the options of a webhook
//	webhook.go    a call: the body, id and signature of the request
//	recipients.go the recipients of a notice, in its JSON
//	request.go    calls with a form of their own, and their tokens
//	answer.go     what an answer means, and what it means that there is none
//	transport.go  guarded connections, and certificates that are read again when they change
package webhook
