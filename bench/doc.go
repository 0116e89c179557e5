// Package bench compares the queue with hibiken/asynq, riverqueue/river and plain Redis lists, on the same servers and
// in the same run. It is a module of its own, so that the product depends on none of the three.
//
// The package also measures a node with many rules, and two nodes under pressure. README.md explains each row.
package bench
