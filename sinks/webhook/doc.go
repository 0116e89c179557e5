// Package webhook posts notices to an HTTP server of another company or team.
//
// A call is a POST with the JSON of one notice, or of several. It is signed as Standard Webhooks says, if the site
// gives a secret. The status of the answer decides what happens next; its text only explains. A status about the notice
// (400, 413, 415, 422) is final: the same notice would be refused again. Every other failure is about the endpoint. A
// person has to repair the endpoint, and after that every notice must arrive.
//
// A site can give calls a form of their own. Then a code in the body of the answer can decide, too.
//
//	settings.go   the settings of a site, and the options of a webhook
//	webhook.go    a call: the body, id and signature of the request
//	recipients.go the recipients of a notice, in its JSON
//	request.go    calls with a form of their own, and their tokens
//	answer.go     what an answer means, and why there is no answer
//	transport.go  guarded connections, and certificates that are read again when they change
package webhook
