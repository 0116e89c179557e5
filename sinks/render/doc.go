// Package render makes the text that a push channel sends. It has the templates, and the view of a notice that
// templates see.
//
// NewView turns a notice into a View in the language of the receiver. A Template is a text/template or html/template of
// Go, with the helpers of docs/how-to/channels.md. Load reads it from a file, and refuses a file that fails on an example.
// Lines, OneLine and Shorten fit a text to a channel: control characters become visible marks, and no character is cut
// in two.
//
// Package render sends nothing, and knows no channel.
package render
