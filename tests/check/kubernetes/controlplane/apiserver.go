package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
)

func (c *cluster) apiserverFlags(gates string) []string {
	return []string{
		"--feature-gates=" + gates,
		"--etcd-servers=" + c.etcdURL(),
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.apiPort),
		"--permit-port-sharing", // with the process that holds it
		"--cert-dir=" + c.path("certs"),
		"--token-auth-file=" + c.path("tokens.csv"),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.path("service-account.key"),
		"--service-account-signing-key-file=" + c.path("service-account.key"),
		"--service-cluster-ip-range=10.0.0.0/16",
		"--endpoint-reconciler-type=none",
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
		"--disable-admission-plugins=ServiceAccount", // no controller here gives namespaces their accounts
		"--shutdown-delay-duration=0s",
		"--v=0",
	}
}

// serveAPI returns when the API server has ended, which a signal makes it do.
func serveAPI(command *cobra.Command) error {
	if code := cli.Run(command); code != 0 {
		return fmt.Errorf("exit code %d", code)
	}
	return nil
}
