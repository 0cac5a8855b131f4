package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// kubelets play the nodes' part: they renew the Leases, and if pods is set they start and end pods. Otherwise they
// leave pods alone, so that a standing load needs no watch of this process.
type kubelets struct {
	client kubernetes.Interface
	nodes  int
	pods   bool
	errors chan error // the first error that is not the fault of a race

	leases []*coordinationv1.Lease
}

// renewal is how often each kubelet renews its Lease, as upstream's does.
const renewal = 10 * time.Second

// startKubelets makes the nodes. stop waits until all has ended.
func startKubelets(ctx context.Context, client kubernetes.Interface, nodes int, pods bool) (k *kubelets, stop func(),
	err error) {
	k = &kubelets{client: client, nodes: nodes, pods: pods, errors: make(chan error, 1),
		leases: make([]*coordinationv1.Lease, nodes)}
	if err := inParallel(ctx, nodes, k.register); err != nil {
		return nil, nil, fmt.Errorf("nodes: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { k.renewLeases(ctx) })
	if pods {
		running.Go(func() { k.runPods(ctx) })
	}
	return k, func() { cancel(); running.Wait() }, nil
}

func (k *kubelets) register(ctx context.Context, n int) (err error) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeOf(n), Labels: map[string]string{
		corev1.LabelHostname: nodeOf(n), corev1.LabelTopologyZone: zoneOf(n), corev1.LabelOSStable: "linux",
		corev1.LabelArchStable: "amd64",
	}}}
	if node, err = k.client.CoreV1().Nodes().Create(ctx, node,
		metav1.CreateOptions{FieldManager: "kubelet"}); err != nil {
		return err
	}
	now := metav1.Now()
	node.Status.Capacity = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse("64Gi"),
		corev1.ResourcePods: resource.MustParse("250"),
	}
	node.Status.Allocatable = node.Status.Capacity
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP,
		Address: fmt.Sprintf("192.168.0.%d", n%250)}}
	for _, pressure := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure,
		corev1.NodePIDPressure} {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: pressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNone",
			LastHeartbeatTime: now, LastTransitionTime: now})
	}
	node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		LastHeartbeatTime: now, LastTransitionTime: now})
	if _, err = k.client.CoreV1().Nodes().UpdateStatus(ctx, node, byKubelet); err != nil {
		return err
	}
	k.leases[n], err = k.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: nodeOf(n), OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Node", Name: nodeOf(n), UID: node.UID}}},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: new(nodeOf(n)), LeaseDurationSeconds: new(int32(40)),
			RenewTime: new(metav1.NowMicro())},
	}, metav1.CreateOptions{FieldManager: "kubelet"})
	return err
}

// renewLeases renews them one after the other, evenly over the time.
func (k *kubelets) renewLeases(ctx context.Context) {
	tick := time.NewTicker(renewal / time.Duration(k.nodes))
	defer tick.Stop()
	for n := 0; ; n = (n + 1) % k.nodes {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		lease := k.leases[n].DeepCopy()
		lease.Spec.RenewTime = new(metav1.NowMicro())
		lease, err := k.client.CoordinationV1().Leases(lease.Namespace).Update(ctx, lease, byKubelet)
		if k.report(ctx, err) {
			k.leases[n] = lease
		}
	}
}

// runPods has every pod with a node run, and removes those that are to end.
func (k *kubelets) runPods(ctx context.Context) {
	factory := informers.NewSharedInformerFactory(k.client, 0)
	var pending sync.WaitGroup
	slots := make(chan struct{}, writers)
	handle := func(obj any) {
		pod, ok := obj.(*corev1.Pod)
		if !ok || pod.Spec.NodeName == "" {
			return
		}
		pending.Go(func() {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
				k.report(ctx, k.sync(ctx, pod))
			case <-ctx.Done():
			}
		})
	}
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: handle, UpdateFunc: func(_, obj any) { handle(obj) },
	})
	k.report(ctx, err)
	factory.StartWithContext(ctx)
	<-ctx.Done()
	factory.Shutdown()
	pending.Wait()
}

func (k *kubelets) sync(ctx context.Context, pod *corev1.Pod) error {
	pods := k.client.CoreV1().Pods(pod.Namespace)
	if pod.DeletionTimestamp != nil {
		return pods.Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	}
	if pod.Status.Phase != corev1.PodPending {
		return nil
	}
	pod = pod.DeepCopy()
	now, r := metav1.Now(), randomFor(ofPod, len(pod.Name), time.Now().Nanosecond())
	pod.Status.Phase, pod.Status.StartTime, pod.Status.PodIP = corev1.PodRunning, &now, address(r)
	pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
	for _, c := range []corev1.PodConditionType{corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady} {
		pod.Status.Conditions = append(pod.Status.Conditions,
			corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: c.Image, ContainerID: "containerd://" + hexDigits(r, 64),
			Ready: true, Started: new(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}})
	}
	_, err := pods.UpdateStatus(ctx, pod, byKubelet)
	return err
}

// report says whether all went well, and keeps the first error. Objects may go or change meanwhile.
func (k *kubelets) report(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return err == nil
	}
	select {
	case k.errors <- err:
	default:
	}
	return false
}

// failed returns the first error so far.
func (k *kubelets) failed() error {
	select {
	case err := <-k.errors:
		return errors.Join(errors.New("kubelets"), err)
	default:
		return nil
	}
}
