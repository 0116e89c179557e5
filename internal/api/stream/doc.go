// Package stream keeps streams of server-sent events to many clients, and knows nothing of what they carry.
//
// A Hub admits a Stream, bounds how many there are on the node and of one token, sends heartbeats, and ends all when the node ends. A Source is where
// a Stream has its events from: the rooms of the API have their own. While a Stream is idle it has no goroutine; who has something for it pushes parts,
// and a client that does not read them is cut off. A Stream ends when the token that it was opened with does.
//
// A connection of HTTP/1 is taken over from the server, because a server's connection costs many times what an idle stream needs.
package stream
