// Package test holds what a site deploys against those who read it: the chart against Helm and the schemas of Kubernetes, the compose file against
// the schema of Compose.
package test
