// Package cluster finds an API server: an external one, by kubeconfig or service account, or one in this process.
//
//	--kubeconfig ─┐
//	$KUBECONFIG ──┼─▶ Config ──▶ *rest.Config ─▶ clients
//	the Pod's own ┘                 ▲
//	apiserver.New ──▶ Embedded ─────┘ and a kubeconfig for kubectl
//
// # What is guaranteed
//
//   - The file in the home directory is used only on request. These programs write, and must not write to a cluster
//     that happened to be used last.
//   - Certificates are verified unless a flag says otherwise; a kubeconfig alone cannot turn that off.
//   - When Embedded returns, the server's goroutines have ended and the kubeconfig's directory is removed.
//
// # Where client-go differs
//
// clientcmd falls back to ~/.kube/config and obeys insecure-skip-tls-verify in it.
package cluster
