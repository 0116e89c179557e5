// Package render makes the text that a push channel sends: the view of a notice that templates see, and the templates.
//
// NewView turns a notice into a View in the language of the receiver. A Template is Go's text/template or html/template with the helpers of
// docs/how-to/channels.md; Load reads it from a file, and refuses a file that does not run on an example. Lines, OneLine and Shorten fit a text to what a
// channel shows: control characters become visible marks, and a text is never cut inside a character.
//
// Package render sends nothing and knows no channel.
package render
