package listwatch

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Source says what the client lists and watches: the path of its URL, with version, resource and namespace, and its
// selectors. What is kept on disk is only of use to a client with the same Source on the same cluster (see [ClusterID]).
func (c *Client[T]) Source() string {
	selectors := c.merged(metav1.ListOptions{})
	url := c.rest.Get().Namespace(c.opts.Namespace).Resource(c.resource.Resource).
		SpecificallyVersionedParams(&selectors, scheme.ParameterCodec, optionsVersion).URL()
	return url.RequestURI()
}

// SourceOf returns what lw says that it lists and watches: its Source method, as a [Client] has one. It is "" for a
// ListerWatcher without one.
func SourceOf[T Object](lw ListerWatcher[T]) string {
	if says, ok := lw.(interface{ Source() string }); ok {
		return says.Source()
	}
	return ""
}

// ClusterID tells clusters apart: it is the server's URL and, if the caller may read it, the UID of the namespace
// kube-system, which another cluster behind the same URL does not have. It asks the server. Refusals (401, 403, 404) leave
// the URL alone; other errors are returned, lest the ID be another whenever the server is in trouble.
//
// Without that right, a cluster that was rebuilt behind the same URL has the ID of the one before, and what was kept of that
// one may be taken for its own: who may not read the namespace sets an ID that is its cluster's alone.
func ClusterID(ctx context.Context, cfg *rest.Config) (string, error) {
	client, _, err := restClientFor(cfg, corev1.SchemeGroupVersion.WithResource("namespaces"), Options{})
	if err != nil {
		return "", err
	}
	url := *client.Get().URL()
	url.Path = ""
	var namespace corev1.Namespace
	err = client.Get().Resource("namespaces").Name(metav1.NamespaceSystem).Do(ctx).Into(&namespace)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err), apierrors.IsNotFound(err):
		return url.String(), nil
	case err != nil:
		return "", fmt.Errorf("listwatch: cluster at %s: %w", url.String(), err)
	case namespace.UID == "":
		return "", errors.New("listwatch: the namespace kube-system has no UID")
	}
	return url.String() + " " + string(namespace.UID), nil
}
