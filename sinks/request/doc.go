// Package request makes calls in the form that a service wants, from a template of the site, and reads their answers.
//
//	settings.go   the template of a call, as a site writes it
//	tree.go       values with templates in their texts, and how they become JSON, XML or a form
//	view.go       the data that templates see
//	call.go       makes a call from a template
//	answer.go     the meaning of a code in an answer
//	token.go      the call that fetches an access token, which is kept until shortly before it expires
//	assertion.go  the signed assertion (JWT) that some services want for a token
//
// Every value is escaped for its place, whatever it holds. A notice cannot add a member to JSON, an element to XML or a
// part to a path, and it never chooses the host.
package request
