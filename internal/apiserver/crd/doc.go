// Package crd turns CustomResourceDefinitions into resources that the API server can serve.
//
//	CustomResourceDefinition ─▶ Default ─▶ Validate (422 with paths) ─▶ stored
//	                                                │
//	                            Accept (conditions, accepted names, stored versions)
//	                                                │
//	                            Build ─▶ one *resource.Info per version
//	                                       ├ Prune     fields the schema lacks
//	                                       ├ Default   what the schema fills in
//	                                       └ Validate  "spec.size: Invalid value: \"string\": …"
//
// The functions are pure. The server stores definitions, and decides when their resources are served.
//
// # Guarantees
//
// Arguments are not changed, except where a function says that it fills them in. The functions of an Info may be called
// from any goroutine. Errors carry the path of the field, and the real server's words if it has the same check.
//
// # What is not guaranteed
//
// There are no conversion webhooks, no scale subresource and no validation rules in CEL. Definitions with a webhook or
// with rules are refused, for without them the server would accept invalid objects. A scale subresource is ignored.
//
// # Where client-go differs
//
// client-go has no such code; k8s.io/apiextensions-apiserver does this with a server of its own.
package crd
