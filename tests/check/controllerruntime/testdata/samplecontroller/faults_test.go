package main

import (
	"context"
	"flag"
	"io"
	"regexp"
	"slices"
	"testing"
	"time"

	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	clientset "k8s.io/sample-controller/pkg/generated/clientset/versioned"
	informers "k8s.io/sample-controller/pkg/generated/informers/externalversions"

	"glasswatch/controller/controllertest"
)

var allFaults = flag.Bool("allfaults", false, "play all faults, and print what is found")

// start is upstream's main, without flags and signals.
func start(ctx context.Context, cfg *rest.Config) error {
	kubeClient, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	exampleClient, err := clientset.NewForConfig(cfg)
	if err != nil {
		return err
	}
	kubeInformerFactory := kubeinformers.NewSharedInformerFactory(kubeClient, time.Second*30)
	exampleInformerFactory := informers.NewSharedInformerFactory(exampleClient, time.Second*30)
	controller := NewController(ctx, kubeClient, exampleClient,
		kubeInformerFactory.Apps().V1().Deployments(), exampleInformerFactory.Samplecontroller().V1alpha1().Foos())
	kubeInformerFactory.Start(ctx.Done())
	exampleInformerFactory.Start(ctx.Done())
	err = controller.Run(ctx, 2)
	kubeInformerFactory.Shutdown()
	exampleInformerFactory.Shutdown()
	return err
}

const foo = `
apiVersion: samplecontroller.k8s.io/v1alpha1
kind: Foo
metadata: {name: web}
spec: {deploymentName: web, replicas: 1}
`

// tenthCreation: a long story leaves most of its middle out, but writes are numbered.
var tenthCreation = regexp.MustCompile(`program create deployments default/web #[1-9][0-9]`)

func TestFaults(t *testing.T) {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	s := controllertest.Scenario{
		CRDs:  []string{"artifacts/examples/crd-status-subresource.yaml"},
		Start: start,
		World: []controllertest.Start{controllertest.Workloads},
		Steps: []controllertest.Step{
			controllertest.ApplyText(foo), controllertest.Settle(),
			controllertest.Patch("foo/web", `{"spec":{"replicas":3}}`), controllertest.Settle(),
			controllertest.Delete("deployment/web"), controllertest.Settle(),
			controllertest.Delete("foo/web"), controllertest.Settle(),
		},
	}
	if *allFaults {
		controllertest.Run(t, s)
		return
	}
	s.Faults = []controllertest.Fault{controllertest.HoldMinutes}
	report := controllertest.Explore(t, s)
	loop := slices.IndexFunc(report.Findings, func(f controllertest.Finding) bool {
		return f.Faults == "watch late by minutes: others delete foos default/web #1"
	})
	if loop < 0 {
		t.Fatalf("not found: %v", report)
	}
	found := report.Findings[loop]
	if !tenthCreation.MatchString(found.Story) {
		t.Errorf("the Deployment is not created ten times: %v\n%s", found.Problems, found.Story)
	}
	t.Logf("%s\n%v\n%s", report, found.Problems, found.Story)
}
