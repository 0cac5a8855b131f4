package controllertest

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/internal/actors"
)

// Workloads plays the controllers of Deployments and StatefulSets, for Scenario.World: the status follows the spec at once, as if all Pods
// became ready, and the claims of a StatefulSet come and go. There are no Pods.
func Workloads(ctx context.Context, cfg *rest.Config) error {
	cfg = rest.CopyConfig(cfg)
	cfg.ContentType = runtime.ContentTypeProtobuf // takes less time than JSON
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	return actors.New(client, "").Run(ctx)
}
