package upstream

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/statefulset"

	"glasswatch/controller/controllertest"
)

// controller is what these tests know of one of kube-controller-manager's.
type controller interface {
	Run(ctx context.Context, workers int)
}

// starting runs a controller on client-go's informers.
func starting(build func(ctx context.Context, client *kubernetes.Clientset, informers informers.SharedInformerFactory) (controller, error)) controllertest.Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		client, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			return err
		}
		factory := informers.NewSharedInformerFactory(client, 0)
		c, err := build(ctx, client, factory)
		if err != nil {
			return err
		}
		factory.Start(ctx.Done())
		c.Run(ctx, 2)
		factory.Shutdown()
		return nil
	}
}

var (
	deployments = starting(func(ctx context.Context, client *kubernetes.Clientset, from informers.SharedInformerFactory) (controller, error) {
		return deployment.NewDeploymentController(ctx, from.Apps().V1().Deployments(), from.Apps().V1().ReplicaSets(), from.Core().V1().Pods(), client)
	})
	statefulSets = starting(func(ctx context.Context, client *kubernetes.Clientset, from informers.SharedInformerFactory) (controller, error) {
		return statefulset.NewStatefulSetController(ctx, from.Core().V1().Pods(), from.Apps().V1().StatefulSets(),
			from.Core().V1().PersistentVolumeClaims(), from.Apps().V1().ControllerRevisions(), client), nil
	})
	jobs = starting(func(ctx context.Context, client *kubernetes.Clientset, from informers.SharedInformerFactory) (controller, error) {
		return job.NewController(ctx, client, from.Core().V1().Pods(), from.Batch().V1().Jobs(), nil, nil)
	})
)

// kubelet makes Pods run: one with the label "ends" ends well at once, others become ready.
func kubelet(ctx context.Context, cfg *rest.Config) error {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	pods := client.CoreV1().Pods("default")
	changes, err := watchtools.NewRetryWatcherWithContext(ctx, "1", &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return pods.Watch(ctx, options)
		},
	})
	if err != nil {
		return err
	}
	defer func() { <-changes.Done() }()
	for event := range changes.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok || event.Type == watch.Deleted || pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodSucceeded {
			continue
		}
		status := `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`
		if pod.Labels["ends"] != "" {
			status = `{"status":{"phase":"Succeeded","conditions":[{"type":"Ready","status":"False"}]}}`
		}
		_, err := pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, []byte(status), metav1.PatchOptions{}, "status")
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return ctx.Err()
}

// sampled is how many plans of each controller are played. With -controllertest.all it is all of them, which takes minutes.
const sampled = 60

const webDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
`

// Without the deletion and the outage, of which the tests below tell.
func TestFaults_Deployment(t *testing.T) {
	quiet(t)
	controllertest.Run(t, controllertest.Scenario{
		Start:  deployments,
		Faults: slices.DeleteFunc(controllertest.AllFaults(), func(f controllertest.Fault) bool { return f == controllertest.Outage }),
		Sample: sampled,
		World:  []controllertest.Start{replicaSets, kubelet},
		Steps: []controllertest.Step{
			controllertest.ApplyText(webDeployment), controllertest.Settle(),
			controllertest.Patch("deployment/web", `{"spec":{"replicas":4}}`), controllertest.Settle(),
			controllertest.Patch("deployment/web",
				`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"web:2"}]}}}}`), controllertest.Settle(),
		},
	})
}

const dbSet = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: "db:1"}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

// Without the deletion, of which a test below tells.
func TestFaults_StatefulSet(t *testing.T) {
	quiet(t)
	controllertest.Run(t, controllertest.Scenario{
		Start:  statefulSets,
		Sample: sampled,
		World:  []controllertest.Start{kubelet},
		Steps: []controllertest.Step{
			controllertest.ApplyText(dbSet), controllertest.Settle(),
			controllertest.Patch("statefulset/db", `{"spec":{"replicas":3}}`), controllertest.Settle(),
			controllertest.Patch("statefulset/db",
				`{"spec":{"template":{"spec":{"containers":[{"name":"db","image":"db:2"}]}}}}`), controllertest.Settle(),
			controllertest.Patch("statefulset/db", `{"spec":{"replicas":1}}`), controllertest.Settle(),
		},
	})
}

// A real API server makes the selector and these defaults.
const fourTasks = `
apiVersion: batch/v1
kind: Job
metadata: {name: tasks}
spec:
  completions: 4
  parallelism: 2
  backoffLimit: 6
  completionMode: NonIndexed
  suspend: false
  manualSelector: true
  selector: {matchLabels: {app: tasks}}
  template:
    metadata: {labels: {app: tasks, ends: well}}
    spec: {restartPolicy: Never, containers: [{name: task, image: task}]}
`

// A Job's Pods have generated names, too: with the two faults that are left out a fifth Pod is made. Upstream's documentation of Jobs says that a
// program may be started twice.
func TestFaults_Job(t *testing.T) {
	quiet(t)
	controllertest.Run(t, controllertest.Scenario{
		Start:  jobs,
		Faults: withoutUnknownCreations(),
		Sample: sampled,
		World:  []controllertest.Start{kubelet},
		Steps: []controllertest.Step{
			controllertest.ApplyText(fourTasks), controllertest.Settle(),
			controllertest.Delete("job/tasks"), controllertest.Settle(),
		},
	})
}

// wantFinding plays a life from creation to deletion under one kind of fault. One finding must be of this plan, with a problem that matches.
func wantFinding(t *testing.T, s controllertest.Scenario, object, text, plan, problem string) {
	t.Helper()
	quiet(t)
	s.Steps = []controllertest.Step{
		controllertest.ApplyText(text), controllertest.Settle(),
		controllertest.Delete(object), controllertest.Settle(),
	}
	report := controllertest.Explore(t, s)
	t.Log(report)
	for _, finding := range report.Findings {
		if finding.Faults == plan && regexp.MustCompile(problem).MatchString(strings.Join(finding.Problems, "\n")) {
			return
		}
		t.Log(finding.Faults, finding.Problems[0])
	}
	t.Errorf("not found: %s", plan)
}

// An owner is deleted, and for a while the controller does not know. It creates children, which are collected, since their owner is gone. It
// creates them again at once: that a child is gone is an event, so no backoff slows it down. The gates against stale caches are on; they
// compare with the controller's own writes only. The garbage collector in memory is quick; a slower one makes the loop slower.
func TestFaults_AnOwnerThatIsGoneGetsChildrenInALoop(t *testing.T) {
	t.Run("StatefulSet", func(t *testing.T) {
		wantFinding(t, controllertest.Scenario{
			Start: statefulSets, World: []controllertest.Start{kubelet}, Faults: []controllertest.Fault{controllertest.HoldSeconds},
		}, "statefulset/db", dbSet, "watch late by seconds: others delete statefulsets default/db #1",
			`settles: .* it is stopped(?s:.*)program create pods default/db-0 #\d\d+: 201`)
	})
	t.Run("Deployment", func(t *testing.T) {
		wantFinding(t, controllertest.Scenario{
			Start: deployments, World: []controllertest.Start{replicaSets, kubelet}, Faults: []controllertest.Fault{controllertest.HoldSeconds},
		}, "deployment/web", webDeployment, "watch late by seconds: others delete deployments default/web #1",
			`settles: .* it is stopped(?s:.*)program update deployments/status default/web #\d\d+: 404`)
	})
	t.Run("ReplicaSet", func(t *testing.T) {
		wantFinding(t, controllertest.Scenario{
			Start: replicaSets, World: []controllertest.Start{kubelet}, Faults: []controllertest.Fault{controllertest.HoldSeconds},
		}, "replicaset/web", threeReplicas, "watch late by seconds: others delete replicasets default/web #1",
			`settles: .* it is stopped(?s:.*)program create pods default/web-\* #\d\d+: 201`)
	})
}

// After 15 failures, about three minutes, the Deployment controller drops a key (maxRetries). When the server is back, nothing has changed, so
// no event brings the key back. kube-controller-manager hides it: without its Lease it exits and starts again, and it resyncs within a day.
func TestFaults_AnOutageOfTenMinutesLosesADeployment(t *testing.T) {
	wantFinding(t, controllertest.Scenario{
		Start: deployments, World: []controllertest.Start{replicaSets, kubelet}, Faults: []controllertest.Fault{controllertest.Outage},
	}, "deployment/web", webDeployment, "server away: program create replicasets default/web-57d9664db9 #1",
		`status.availableReplicas: want 3, got nothing`)
}
