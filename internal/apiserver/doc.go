// Package apiserver is a Kubernetes API server small enough to live in a test or a demo: it speaks the real wire
// protocol over net/http and keeps everything in memory.
package apiserver
