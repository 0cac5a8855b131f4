package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Flags are the command line's flags about the cluster.
type Flags struct {
	Kubeconfig string // path; empty: $KUBECONFIG, else the Pod's service account
	Context    string // of the kubeconfig; empty: the current one
	Insecure   bool   // accept any certificate
}

// Config finds the cluster, and returns where it was found.
func (f Flags) Config() (cfg *rest.Config, source string, err error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: f.Kubeconfig}
	env := os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	if f.Kubeconfig == "" && env != "" {
		rules.Precedence = filepath.SplitList(env)
	}
	if f.Kubeconfig != "" || env != "" {
		cfg, source, err = fromKubeconfig(rules, f.Context)
	} else {
		cfg, source, err = fromPod(f.Context)
	}
	if err != nil {
		return nil, "", err
	}
	if err := f.setVerification(cfg); err != nil {
		return nil, "", err
	}
	return cfg, source, nil
}

func fromKubeconfig(rules *clientcmd.ClientConfigLoadingRules, context string) (*rest.Config, string, error) {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context})
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if len(raw.Contexts) == 0 {
		return nil, "", fmt.Errorf("kubeconfig %s: not there, or without any context", strings.Join(rules.GetLoadingPrecedence(), ", "))
	}
	if context == "" {
		context = raw.CurrentContext
	}
	if _, found := raw.Contexts[context]; !found {
		return nil, "", fmt.Errorf("kubeconfig: want a context to use, got %q, which it does not have", context)
	}
	cfg, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("kubeconfig, context %q: %w", context, err)
	}
	return cfg, "kubeconfig context " + context, nil
}

func fromPod(context string) (*rest.Config, string, error) {
	if context != "" {
		return nil, "", fmt.Errorf("--context %s: there is no kubeconfig to take it from", context)
	}
	cfg, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, "", errors.New("no cluster: give --kubeconfig, set KUBECONFIG, or run in a Pod; " +
			"--help tells of what needs none")
	}
	if err != nil {
		return nil, "", fmt.Errorf("in-cluster configuration: %w", err)
	}
	return cfg, "in-cluster service account", nil
}

// setVerification keeps TLS verification on unless the flag turns it off.
func (f Flags) setVerification(cfg *rest.Config) error {
	if !f.Insecure {
		if cfg.Insecure {
			return errors.New("the kubeconfig turns TLS verification off; to accept that, give --insecure-skip-tls-verify")
		}
		return nil
	}
	cfg.Insecure = true
	cfg.CAFile, cfg.CAData = "", nil
	return nil
}
