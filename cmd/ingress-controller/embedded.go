package main

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/cmd/internal/cluster"
	"glasswatch/internal/apiserver"
)

func runEmbedded(ctx context.Context, o *options, out io.Writer) error {
	server := apiserver.New(apiserver.Options{})
	return cluster.Embedded(ctx, server, o.Namespace, func(ctx context.Context, e cluster.Embedding) error {
		if err := createNamespace(ctx, e.Config, o.Namespace); err != nil {
			return err
		}
		printInvitation(out, e.Kubeconfig, o)
		return runController(ctx, e.Config, o)
	})
}

// createNamespace creates the namespace that a flag names, for the user wants to work in it.
func createNamespace(ctx context.Context, cfg *rest.Config, name string) error {
	if name == "" {
		return nil
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// printInvitation prints lines that are ready to be pasted into another terminal.
func printInvitation(out io.Writer, kubeconfig string, o *options) {
	fmt.Fprintf(out, `The API server runs till you press Ctrl-C. Its kubeconfig:

  %[1]s

In another terminal:

  export KUBECONFIG=%[1]s
  kubectl get ingress -w &
  kubectl create service clusterip web --tcp=80:8080
  kubectl annotate service web %[2]s/http=true
  kubectl annotate service web %[2]s/host=web.example.com
  kubectl delete ingress web
  kubectl annotate --overwrite service web %[2]s/http=maybe
  kubectl get events
  kubectl annotate --overwrite service web %[2]s/http=true
  kubectl edit ingress web

and, when you have seen it put right again:

  kubectl delete service web

`, kubeconfig, o.config.AnnotationPrefix)
}
