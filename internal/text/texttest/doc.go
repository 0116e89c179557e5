// Package texttest has the texts that every output must stand: what the row of a source may hold, and what an older
// ledger may hold.
//
// Each gives them one by one, All in one text. Marked and Visible hold an output against them: what is shown has
// visible marks, and no raw control character or character that turns the direction of text.
package texttest
