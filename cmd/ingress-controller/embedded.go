package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"glasswatch/internal/apiserver"
)

// withServer runs an API server on a free loopback port for as long as use does,
// and writes a kubeconfig for it, with this namespace to start in, into a
// directory that is removed at the end.
func withServer(ctx context.Context, namespace string, use func(ctx context.Context, server *apiserver.Server, cfg *rest.Config, kubeconfig string) error) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	cfg := apiserver.RESTConfigFor(listener)
	dir, err := os.MkdirTemp("", "glasswatch-")
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer os.RemoveAll(dir)
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := writeKubeconfig(kubeconfig, cfg.Host, namespace); err != nil {
		return errors.Join(err, listener.Close())
	}

	server := apiserver.New(apiserver.Options{})
	// The server outlives its users, so that they can put their things in order.
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return server.Serve(serving, listener) })
	group.Go(func() error {
		defer stopServing()
		return use(ctx, server, cfg, kubeconfig)
	})
	return group.Wait()
}

func writeKubeconfig(path, server, namespace string) error {
	const name = "glasswatch"
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters[name] = &clientcmdapi.Cluster{Server: server}
	cfg.AuthInfos[name] = &clientcmdapi.AuthInfo{}
	cfg.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: namespace}
	cfg.CurrentContext = name
	return clientcmd.WriteToFile(*cfg, path)
}

func runEmbedded(ctx context.Context, o *options, out io.Writer) error {
	return withServer(ctx, o.namespace, func(ctx context.Context, _ *apiserver.Server, cfg *rest.Config, kubeconfig string) error {
		if err := introduce(ctx, cfg, "the in-process API server"); err != nil {
			return err
		}
		if err := createNamespace(ctx, cfg, o.namespace); err != nil {
			return err
		}
		printInvitation(out, kubeconfig, o)
		return runController(ctx, cfg, o)
	})
}

// createNamespace: whoever names a namespace wants to work in it.
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
