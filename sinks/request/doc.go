// Package request makes the calls of services that have a form of their own, of a template that a site writes, and reads their answers.
//
//	settings.go   the template of a call, as a site writes it
//	tree.go       values with templates in their texts, and what they are as JSON, XML and a form
//	view.go       what templates see
//	call.go       the call that a template makes
//	answer.go     what a code in an answer means
//	token.go      the call that fetches an access token, which is kept until shortly before it ends
//	assertion.go  the signed assertion (JWT) that some services want for a token
//
// Values are escaped for where they stand, whatever they hold: a notice can add no member to a JSON, no element to an XML and no part to a path, and it
// never chooses the host.
package request
