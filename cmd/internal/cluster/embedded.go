package cluster

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"glasswatch/internal/apiserver"
)

// Embedding is an API server that runs in this process.
type Embedding struct {
	Server     *apiserver.Server
	Config     *rest.Config
	Kubeconfig string // path of a file
}

// Listen is where Embedded lets the server listen. A test puts a listener of pipes into its place, so that the program runs in virtual
// time.
var Listen = func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }

// Embedded runs server on a free loopback port while use runs. It writes a kubeconfig for it, with this namespace as
// default, into a directory that is removed at the end. If the server fails, the context of use ends.
func Embedded(ctx context.Context, server *apiserver.Server, namespace string, use func(ctx context.Context, e Embedding) error) error {
	listener, err := Listen()
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
	if err := WriteKubeconfig(kubeconfig, cfg.Host, namespace); err != nil {
		return errors.Join(err, listener.Close())
	}

	// The server ends after its users, so that they can clean up.
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return server.Serve(serving, listener) })
	group.Go(func() error {
		defer stopServing()
		return use(ctx, Embedding{server, cfg, kubeconfig})
	})
	return group.Wait()
}

// WriteKubeconfig writes one for a server that wants no credentials.
func WriteKubeconfig(path, server, namespace string) error {
	const name = "glasswatch"
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters[name] = &clientcmdapi.Cluster{Server: server}
	cfg.AuthInfos[name] = &clientcmdapi.AuthInfo{}
	cfg.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: namespace}
	cfg.CurrentContext = name
	return clientcmd.WriteToFile(*cfg, path)
}
