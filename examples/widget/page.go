// Package widget is a screen of a WMS that embeds the inbox widget, as files. The demo shows its own screen in the same style.
package widget

import _ "embed" // the style

// Style is the style sheet of the screen.
//
//go:embed page.css
var Style []byte
