// Package bench holds the queue against others, on the same servers, in the same run: hibiken/asynq, riverqueue/river and plain
// Redis lists. It is a module of its own, so that the product depends on none of them.
// It measures a node with many rules, and two nodes under pressure, too. README.md says what each row means.
package bench
