// Package patch turns a request body into the object that the server stores next.
//
//	body + media type ──▶ Decode ─────────────────────────┐
//	                                                      ├─▶ Track (managedFields) ─▶ the object to store
//	body + media type + current object ──▶ Patch ─────────┘
//	        │
//	        ├ application/json-patch+json             operations on the JSON form
//	        ├ application/merge-patch+json            RFC 7386 on the JSON form
//	        ├ application/strategic-merge-patch+json  lists merged by their patchMergeKey, built-in types only
//	        └ application/apply-patch+yaml            server-side apply: ownership, conflicts, force
//
// A Patcher knows one kind (and one of its subresources) and nothing of HTTP or storage. The hard parts are the
// libraries that the real server uses: strategicpatch, json-patch, and the managedfields package.
//
// # Guarantees
//
//   - The current object handed in is never changed; the object handed out shares nothing with it.
//   - Every error is an *apierrors.StatusError with the code and reason of the real server.
//   - A request that changes nothing gives back managedFields with the old timestamps, so that the result equals the
//     current object.
//   - A Patcher has no state: its methods are safe to call concurrently and never block.
//
// # What is not guaranteed
//
// The server compares resource versions, keeps status out of the main resource's writes, and validates more than the
// shape of the type. Built-in types are defaulted only as far as the Kind's Default function does.
//
// # Where client-go differs
//
// client-go's fake clientset has the same machinery in its tracker (k8s.io/client-go/testing). It lacks field
// validation and ownership by subresource, and supports typed objects only.
package patch
