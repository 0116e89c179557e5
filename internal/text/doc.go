// Package text has the one policy of what a text may hold.
//
// A text that comes in is checked with Check, or CheckJSON where it stands in JSON: it is refused when it has bytes that are no UTF-8, a
// control character (category Cc), or a character that turns the direction of what stands around it (U+202A to U+202E, U+2066 to U+2069). A
// text of several lines may have line breaks and tabs. Joiners and marks of direction (ZWJ, ZWNJ, LRM, RLM) are letters' business and allowed.
//
// A text that comes from the row of a source is taken as it is: it names the finding. So a text that goes out may hold anything, and each output
// makes it fit: JSON and YAML carry the raw value with EscapeJSON, all else carries the marks of Visible, such as [U+202E].
package text
