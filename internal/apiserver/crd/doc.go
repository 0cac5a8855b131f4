// Package crd turns CustomResourceDefinitions into resources that the API server can serve.
//
//	CustomResourceDefinition ─▶ Default ─▶ Validate (422 with paths) ─▶ stored
//	                                                │
//	                            Accept (conditions, accepted names, stored versions)
//	                                                │
//	                            Build ─▶ one *resource.Info per served version
//	                                       ├ Prune     fields the schema lacks
//	                                       ├ Default   what the schema fills in
//	                                       └ Validate  "spec.size: Invalid value: \"string\": …"
//
// The functions are pure: who stores definitions, and when their resources come and go, is the server's affair.
//
// # Guarantees
//
// Nothing handed in is changed, except what a function says it fills in. The functions of an Info may be called from any
// goroutine. Errors carry the path of the field and, where a real server has the same check, its words.
//
// # What is not guaranteed
//
// There are no conversion webhooks, no scale subresource and no validation rules in CEL. Definitions that ask for a
// webhook or for rules are refused, since ignoring them would let bad objects in; a scale subresource is ignored.
//
// # Where client-go differs
//
// client-go has no part in this; k8s.io/apiextensions-apiserver does it with a server of its own.
package crd
