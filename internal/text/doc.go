// Package text has the only policy for the characters of texts.
//
// Every text that comes in passes Check, or CheckJSON where it is part of JSON. They refuse bytes that are not UTF-8,
// control characters (category Cc), and characters that turn the direction of the text around them (U+202A to U+202E,
// U+2066 to U+2069). A text of several lines may have line breaks and tabs. Joiners and marks of direction (ZWJ, ZWNJ,
// LRM, RLM) are allowed, because some scripts need them.
//
// A text from a row of a source is taken as it is, because it names the finding. Therefore a text that goes out may
// hold any character, and each output handles that: JSON and YAML carry the raw value with EscapeJSON. All other
// outputs carry the marks of Visible, such as [U+202E].
package text
