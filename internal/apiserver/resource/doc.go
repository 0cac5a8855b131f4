// Package resource has the types that all parts of the API server share: a resource's names, its Go type, and the list
// of built-in resources.
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
