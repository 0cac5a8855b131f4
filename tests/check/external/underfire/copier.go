// Package underfire is an operator on controller-runtime in a module of its own, which its test puts under each fault. It copies the key "text"
// of each ConfigMap into a Secret of the same name.
package underfire

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Run copies until ctx ends. A hasty copier believes its cache.
func Run(ctx context.Context, cfg *rest.Config, hasty bool) error {
	again := true
	manager, err := ctrl.NewManager(cfg, ctrl.Options{
		Metrics:    metrics.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &again}, // a test starts it many times in one process
	})
	if err != nil {
		return err
	}
	c := &copier{manager.GetClient(), manager.GetAPIReader()}
	if hasty {
		c.server = manager.GetClient()
	}
	if err := ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}).Complete(c); err != nil {
		return err
	}
	return manager.Start(ctx)
}

type copier struct {
	client.Client
	server client.Reader // what the API server has now
}

func (c *copier) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var from corev1.ConfigMap
	if err := c.Get(ctx, req.NamespacedName, &from); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	// A Secret for a ConfigMap that is gone would be collected. Its deletion would lead here again, and so on until the cache is up to date.
	if err := c.server.Get(ctx, req.NamespacedName, &from); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	to := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: from.Namespace, Name: from.Name}}
	_, err := ctrl.CreateOrUpdate(ctx, c.Client, &to, func() error {
		to.Data = map[string][]byte{"text": []byte(from.Data["text"])}
		return ctrl.SetControllerReference(&from, &to, c.Scheme())
	})
	return ctrl.Result{}, err
}
