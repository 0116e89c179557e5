// Command tallyman is the whole product in one program: the node (serve), the demo, and the commands for authors and operators.
//
// main hands the arguments, the three streams and a context that ends with the first SIGINT or SIGTERM to package internal/cli, and exits with the
// code that cli.Run returns. Everything else stands in the packages: internal/cli reads the command, internal/app puts a node together.
package main
