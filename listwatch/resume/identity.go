package resume

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"glasswatch/listwatch"
)

// SourceOf returns what lw says that it lists and watches: its Source method, as a [listwatch.Client] has one. It is ""
// for a ListerWatcher without one.
func SourceOf[T listwatch.Object](lw listwatch.ListerWatcher[T]) string {
	if says, ok := lw.(interface{ Source() string }); ok {
		return says.Source()
	}
	return ""
}

// ClusterID tells clusters apart: it is the server's URL and, if the caller may read it, the UID of the namespace
// kube-system, which another cluster behind the same URL does not have. It asks the server. Refusals (401, 403, 404)
// leave the URL alone. Other errors are returned: the ID must not depend on whether the server is in trouble.
//
// Without that right, a cluster that was rebuilt behind the same URL has the ID of the one before. What was kept of that
// one may be taken for its own then. Programs that may not read the namespace set an ID of their own.
func ClusterID(ctx context.Context, cfg *rest.Config) (string, error) {
	if cfg == nil {
		return "", errors.New("resume: no REST config")
	}
	client, err := corev1.NewForConfig(cfg)
	if err != nil {
		return "", fmt.Errorf("resume: %w", err)
	}
	url := *client.RESTClient().Get().URL()
	url.Path = ""
	namespace, err := client.Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err), apierrors.IsNotFound(err):
		return url.String(), nil
	case err != nil:
		return "", fmt.Errorf("resume: cluster at %s: %w", url.String(), err)
	case namespace.UID == "":
		return "", errors.New("resume: the namespace kube-system has no UID")
	}
	return url.String() + " " + string(namespace.UID), nil
}
