package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"glasswatch/internal/apiserver"
	"glasswatch/tests/check/controlplane"
)

// server is an API server that runs, and how to reach it.
type server struct {
	kubeconfig string
	stop       func() error
}

// startServer starts a control plane, or the embedded API server, or takes the running one of a kubeconfig's path.
func startServer(kind string) (server, error) {
	switch kind {
	case "controlplane":
		plane, err := controlplane.Launch(controlplane.Options{Bare: true})
		if err != nil {
			return server{}, err
		}
		return server{plane.Kubeconfig(controlplane.Admin), plane.Stop}, nil
	case "embedded":
		return startEmbedded()
	}
	if _, err := os.Stat(kind); err != nil {
		return server{}, fmt.Errorf("-server is controlplane, embedded or a kubeconfig's path: %w", err)
	}
	return server{kind, func() error { return nil }}, nil
}

func startEmbedded() (server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return server{}, err
	}
	dir, err := os.MkdirTemp("", "coldsync-")
	if err != nil {
		return server{}, errors.Join(err, l.Close())
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := writeKubeconfig(kubeconfig, "http://"+l.Addr().String()); err != nil {
		return server{}, errors.Join(err, l.Close(), os.RemoveAll(dir))
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- apiserver.New(apiserver.Options{}).Serve(ctx, l) }()
	return server{kubeconfig, func() error {
		cancel()
		return errors.Join(<-served, os.RemoveAll(dir))
	}}, nil
}

func writeKubeconfig(file, url string) error {
	const name = "coldsync"
	k := clientcmdapi.NewConfig()
	k.Clusters[name] = &clientcmdapi.Cluster{Server: url}
	k.Contexts[name] = &clientcmdapi.Context{Cluster: name}
	k.CurrentContext = name
	return clientcmd.WriteToFile(*k, file)
}
