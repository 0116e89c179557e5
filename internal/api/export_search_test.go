package api

// NoticeCursor and ParseNoticeCursor are the two sides of a search's cursor.
var (
	NoticeCursor      = noticeCursor
	ParseNoticeCursor = parseNoticeCursor
)
