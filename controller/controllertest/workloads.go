package controllertest

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/internal/actors"
)

// Workloads plays the controllers of Deployments and StatefulSets, for Scenario.World: the status follows the spec at once, as if all Pods
// became ready, and the claims of a StatefulSet come and go. There are no Pods.
func Workloads(ctx context.Context, cfg *rest.Config) error {
	client, err := clientOf(cfg)
	if err != nil {
		return err
	}
	return actors.New(client, "").Run(ctx)
}

// Jobs plays the Job controller, for Scenario.World: it creates the Pods of Jobs, and writes the status as they end. With it goes [Pods], or
// PodsThatExit. A Job that is suspended or Indexed, or has a podFailurePolicy or podReplacementPolicy Failed, is a finding of the
// oracle Runs.
func Jobs(ctx context.Context, cfg *rest.Config) error {
	client, err := clientOf(cfg)
	if err != nil {
		return err
	}
	return actors.NewJobs(client).Run(ctx)
}

// Pods plays the scheduler and the kubelet of a node, for Scenario.World: a Pod is bound, and after two seconds it runs and is ready. After
// five more, its containers exit with 0, unless restartPolicy is Always. A deleted Pod ends two seconds later.
func Pods(ctx context.Context, cfg *rest.Config) error {
	return PodsThatExit(func(*corev1.Pod) int32 { return 0 })(ctx, cfg)
}

// PodsThatExit is Pods with other exit codes. code is called by all plays at the same time, and may be called several times for a Pod: let it
// depend on the Pod alone. One that is not 0 lets the Pod fail, which must have restartPolicy Never.
func PodsThatExit(code func(pod *corev1.Pod) int32) Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		client, err := clientOf(cfg)
		if err != nil {
			return err
		}
		return actors.NewPods(client, code).Run(ctx)
	}
}

func clientOf(cfg *rest.Config) (kubernetes.Interface, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.ContentType = runtime.ContentTypeProtobuf // takes less time than JSON
	return kubernetes.NewForConfig(cfg)
}
