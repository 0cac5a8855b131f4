// Package openapi describes the served resources to clients: kubectl asks before it applies, explains or validates.
//
//	Go types of the scheme ──reflection──▶ schemas ─┐
//	schemas of custom resources ────────────────────┼─▶ /openapi/v3            index: a URL with a hash per group version
//	resources ─────────────────────────▶ paths ─────┘   /openapi/v3/apis/...   one document per group version
//	                                                    /openapi/v2            one document for all
//
// # Guarantees
//
//   - Update is cheap and may be called at any time. A document is built on its first request, and kept until a
//     resource of its group version changes. Concurrent requests for the same document wait for the one build.
//   - The hash in the index changes if and only if the resources of that group version do.
//   - A PATCH operation names the parameters dryRun, fieldManager, fieldValidation and force, which is how kubectl finds
//     out that the server validates fields.
//
// # What is not guaranteed
//
// The documents are smaller than those of a real server. Comment markers (list types, enums, defaults) are not in the
// Go types. A field counts as required if its JSON tag does not omit empty values.
//
// # Where client-go differs
//
// client-go only reads such documents.
package openapi
