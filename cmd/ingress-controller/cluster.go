package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// clusterConfig finds the cluster: --kubeconfig, else $KUBECONFIG, else the
// Pod's service account. A file in the home directory is never taken unasked:
// this program writes, and should not do so to whatever cluster was used last.
func clusterConfig(o *options) (cfg *rest.Config, source string, err error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: o.kubeconfig}
	env := os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	if o.kubeconfig == "" && env != "" {
		rules.Precedence = filepath.SplitList(env)
	}
	if o.kubeconfig != "" || env != "" {
		cfg, source, err = fromKubeconfig(rules, o.context)
	} else {
		cfg, source, err = fromPod(o.context)
	}
	if err != nil {
		return nil, "", err
	}
	if err := setVerification(cfg, o.insecure); err != nil {
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
		return nil, "", errors.New("no cluster: give --kubeconfig, set KUBECONFIG, or run in a Pod; --embedded and --demo bring their own")
	}
	if err != nil {
		return nil, "", fmt.Errorf("in-cluster configuration: %w", err)
	}
	return cfg, "in-cluster service account", nil
}

// setVerification keeps TLS verification on unless the flag turns it off; a
// kubeconfig alone cannot.
func setVerification(cfg *rest.Config, insecure bool) error {
	if !insecure {
		if cfg.Insecure {
			return errors.New("the kubeconfig turns TLS verification off; to accept that, give --insecure-skip-tls-verify")
		}
		return nil
	}
	cfg.Insecure = true
	cfg.CAFile, cfg.CAData = "", nil
	return nil
}

// introduce logs which cluster this is, and as whom it will be written to.
func introduce(ctx context.Context, cfg *rest.Config, source string) error {
	logger := klog.FromContext(ctx)
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	version := "unknown"
	if v, err := client.Discovery().ServerVersionWithContext(ctx); err == nil {
		version = v.GitVersion
	} else {
		logger.Error(err, "The API server does not tell its version", "server", cfg.Host)
	}
	identity := "unknown"
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err == nil {
		identity = review.Status.UserInfo.Username
	} else {
		logger.V(1).Info("The API server does not tell who this is", "err", err)
	}
	logger.Info("Cluster", "server", cfg.Host, "version", version, "from", source, "identity", identity,
		"tls", tlsOf(cfg))
	return nil
}

func tlsOf(cfg *rest.Config) string {
	switch {
	case !strings.HasPrefix(cfg.Host, "https://"):
		return "none"
	case cfg.Insecure:
		return "not verified"
	default:
		return "verified"
	}
}
