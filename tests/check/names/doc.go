// Package names makes the tables of docs/learn/names.md and docs/learn/names.zh.md, and checks what stands around them.
//
//	discovery of an API server ─┐
//	the scheme's Go types ──────┼──▶ resources: one row a resource, with URL, Go type and client call
//	client-go's clientsets ─────┘
//	a Deployment, changed six times ──▶ identities: what of its key, UID, versions and generation changed
//
// [Resources] joins the first three by reflection, so no row is written by hand. Make the tables again with
//
//	go test -C tests/check ./names -update
//
// With bin/controlplane the rows are those of the upstream API server, without it those that the page has are compared
// with the API server in memory. Each import path of the page must exist in the pinned modules, and each URL must
// answer.
package names
