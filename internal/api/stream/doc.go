// Package stream keeps streams of server-sent events to many clients. The package does not know the content of the
// events.
//
// A Hub admits streams, limits their number on the node and for each token, sends heartbeats, and ends all streams when
// the node stops. A Source supplies the events of a stream; each room of the API has its own.
//
// An idle Stream has no goroutine that writes. The source pushes parts, and the Stream starts a goroutine to send them.
// A client that does not read is disconnected. A Stream ends with the token that opened it.
//
// With HTTP/1 a Stream takes the connection over from the server. The buffers and the goroutine of a server connection
// would cost many times the memory that an idle stream needs.
package stream
