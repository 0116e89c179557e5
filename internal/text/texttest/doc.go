// Package texttest has texts with difficult characters, which every output must handle. The row of a source or an older
// ledger may hold such texts.
//
// Each returns the texts one by one, and All has them in one text. Marked and Visible check an output: it must show
// visible marks, and no raw control character and no character that turns the direction of text.
package texttest
