// Package cluster finds an API server to work on: somebody's, by kubeconfig or service account, or one in this process.
//
//	--kubeconfig ─┐
//	$KUBECONFIG ──┼─▶ Config ──▶ *rest.Config ─▶ clients
//	the Pod's own ┘                 ▲
//	apiserver.New ──▶ Embedded ─────┘ and a kubeconfig for kubectl
//
// # What is guaranteed
//
//   - The file in the home directory is never taken unasked: these programs write, and should not do so to whatever
//     cluster was used last.
//   - Certificates are verified unless a flag says otherwise; a kubeconfig alone cannot turn that off.
//   - When Embedded returns, the server's goroutines and the kubeconfig's directory are gone.
//
// # Where client-go differs
//
// clientcmd falls back to ~/.kube/config and obeys insecure-skip-tls-verify in it.
package cluster
