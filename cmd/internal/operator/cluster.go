package operator

import (
	"context"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// introduce logs the cluster, and the user whose rights the writes need.
func introduce(ctx context.Context, cfg *rest.Config, source, version string) error {
	logger := klog.FromContext(ctx)
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	serverVersion := "unknown"
	if v, err := client.Discovery().ServerVersionWithContext(ctx); err == nil {
		serverVersion = v.GitVersion
	} else {
		logger.Error(err, "The API server does not tell its version", "server", cfg.Host)
	}
	identity := "unknown"
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx,
		&authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err == nil {
		identity = review.Status.UserInfo.Username
	} else {
		logger.V(1).Info("The API server does not tell who this is", "err", err)
	}
	logger.Info("Cluster", "server", cfg.Host, "version", serverVersion, "from", source, "identity", identity,
		"tls", tlsOf(cfg), "controller", version)
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
