package sqlite_test

import "net/url"

// uriPath writes a path as the part of a file: URI.
func uriPath(path string) string { return (&url.URL{Path: path}).EscapedPath() }
