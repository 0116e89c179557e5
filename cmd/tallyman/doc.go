// Command tallyman is the whole product in one program: the node (serve), the demo, and the commands for authors and
// operators.
//
// main calls package internal/cli with the arguments, the three streams and a context that ends with the first SIGINT
// or SIGTERM. It exits with the code that cli.Run returns. All other code is in the packages: internal/cli reads the
// command, and internal/app builds a node.
package main
