// Package test checks the files that a site deploys: the chart with Helm and the schemas of Kubernetes, and the compose
// file with the schema of Compose.
package test
