package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/cmd/internal/cluster"
	"glasswatch/internal/apiserver"
)

const (
	// LabelDemo is on the namespaces that demos make on a cluster; its value is the demo's name.
	LabelDemo = "glasswatch.example.com/demo"

	localNamespace = "demo"
	cleaningTime   = 30 * time.Second
	clusterQPS     = 100 // so that a crowd takes seconds; client-go's five a second suit long-running programs
)

func inProcess(ctx context.Context, s Story, p *Printer, o *options) error {
	server := apiserver.New(s.Server)
	if err := server.SeedNamespaces(localNamespace); err != nil {
		return err
	}
	return cluster.Embedded(ctx, server, localNamespace, func(ctx context.Context, e cluster.Embedding) error {
		p.Line("API server at %s, in this process; kubeconfig %s; --follow keeps both", e.Config.Host, e.Kubeconfig)
		d := &Demo{Printer: p, Config: e.Config, Namespace: localNamespace, InProcess: true, server: server,
			cluster: cluster.Flags{Kubeconfig: e.Kubeconfig}}
		return d.with(ctx, func() error { return d.play(ctx, s, o.follow) })
	})
}

func onCluster(ctx context.Context, s Story, p *Printer, o *options) error {
	cfg, source, err := o.cluster.Config()
	if err != nil {
		return err
	}
	cfg.QPS, cfg.Burst = clusterQPS, 2*clusterQPS
	p.Line("API server at %s, from %s", cfg.Host, source)
	d := &Demo{Printer: p, Config: cfg, Namespace: fmt.Sprintf("glasswatch-%s-%s", s.Name, utilrand.String(5)),
		cluster: o.cluster}
	return d.with(ctx, func() error {
		// This stands before the creation, for a creation that failed may have been carried out.
		d.Cleanup(d.removeNamespace)
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: d.Namespace, Labels: map[string]string{LabelDemo: s.Name}}}
		if _, err := d.Client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
			return err
		}
		p.Line("namespace %s, removed at the end", d.Namespace)
		return d.play(ctx, s, o.follow)
	})
}

// with gives d a client for the time of use, and cleans up even if use panics.
func (d *Demo) with(ctx context.Context, use func() error) (err error) {
	d.Config, d.Tape = Taped(d.Config)
	httpClient, err := rest.HTTPClientFor(d.Config)
	if err != nil {
		return err
	}
	defer httpClient.CloseIdleConnections()
	if d.Client, err = kubernetes.NewForConfigAndClient(d.Config, httpClient); err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleaningTime)
		defer cancel()
		err = errors.Join(err, d.clean(ctx))
	}()
	return use()
}

// removeNamespace waits until the cluster has accepted the deletion; the cluster empties it, which may take long.
func (d *Demo) removeNamespace(ctx context.Context) error {
	err := Eventually(ctx, func() error {
		err := d.Client.CoreV1().Namespaces().Delete(ctx, d.Namespace, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil // gone, or going
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("namespace %s is left, remove it by hand: %w", d.Namespace, err)
	}
	return nil
}
