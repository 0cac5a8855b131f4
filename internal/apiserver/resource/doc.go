// Package resource is the vocabulary that the parts of the API server share: what a resource is called, which Go type
// holds it, and which resources are there from the start.
//
//	         ┌───────────────┐
//	Builtins │ []*Info       │──▶ routing and storage (apiserver)
//	         └───────────────┘──▶ patches, tables, OpenAPI documents
//	crd.Build ─▶ *Info ───────▶ the same, added at run time
//
// An Info is immutable once it has been handed out: a changed CustomResourceDefinition makes another Info. All functions
// in it may be called from any goroutine.
//
// Not guaranteed: completeness. Only the stable versions of the common groups are served, and of subresources only status.
package resource
