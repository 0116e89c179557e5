// Package widget has the files of a WMS screen that embeds the inbox widget. The demo shows its own screen in the same
// style.
package widget

import _ "embed" // the style

// Style is the style sheet of the screen.
//
//go:embed page.css
var Style []byte
