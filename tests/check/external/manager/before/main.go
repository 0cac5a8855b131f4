// A program that copies the key "text" of each ConfigMap into a Secret of the same name.
package main

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	ctrl.SetLogger(klog.Background())
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Metrics: metrics.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	if err := ctrl.NewControllerManagedBy(manager).
		For(&corev1.ConfigMap{}).
		Owns(&corev1.Secret{}).
		Complete(&copier{manager.GetClient()}); err != nil {
		return err
	}
	return manager.Start(ctx)
}

type copier struct{ client.Client }

func (c *copier) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var from corev1.ConfigMap
	if err := c.Get(ctx, req.NamespacedName, &from); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	to := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: from.Namespace, Name: from.Name}}
	result, err := ctrl.CreateOrUpdate(ctx, c.Client, &to, func() error {
		to.Data = map[string][]byte{"text": []byte(from.Data["text"])}
		return ctrl.SetControllerReference(&from, &to, c.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	fmt.Println(result, req)
	return ctrl.Result{}, nil
}
