// Package passon passes HTTP requests on to the API server, as kubectl proxy does, and refuses what opens other doors.
//
//	request ──▶ allowed? ──▶ own or caller's credentials ──▶ UpgradeAwareHandler ──▶ API server
//	               └ no: a Status, as the API server answers
//
// # What is guaranteed
//
//   - One transport for all requests, and so few connections.
//   - Without Options.CallersOwn requests go with the credentials of the configuration. Then the caller's Authorization
//     and Impersonate headers do not go along: whoever may act for others must not let callers choose for whom.
//   - With it they go with the caller's credentials, and with none of the configuration's.
//   - A path that two readers may read differently is refused.
//
// # What is not
//
//   - It asks nobody for a token. That is the business of package guard, before.
//   - Secrets are known by name: a custom resource that holds some is not.
package passon
