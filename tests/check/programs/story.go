package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"glasswatch/tests/check/controlplane"
)

// story is a day of a small cluster, with the manager and the scheduler of one side.
type story struct {
	binary   string
	load     load // Others is not used
	nodes    int
	steps    []string
	programs map[string]*program
	client   *kubernetes.Clientset
}

// The steps of a story, in their order.
const (
	created   = "create"
	scaledUp  = "scale up"
	rolledOut = "roll out"
	drained   = "drain a node"
	deleted   = "delete the namespace"
)

var steps = []string{created, scaledUp, rolledOut, drained, deleted}

const (
	storyNamespace = "story"
	patience       = 5 * time.Minute
)

// play returns the times of the steps, and for each program what it says after them.
func (s *story) play(ctx context.Context, of side) (results []result, err error) {
	plane, err := controlplane.Launch(controlplane.Options{Bare: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	if s.client, err = clientFor(plane); err != nil {
		return nil, err
	}
	kubelets, stop, err := startKubelets(ctx, s.client, s.nodes, true)
	if err != nil {
		return nil, err
	}
	defer stop()
	s.programs = map[string]*program{}
	for _, name := range []string{manager, scheduler} {
		p, err := startProgram(ctx, s.binary, name, of, plane)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, p.stop()) }()
		s.programs[name] = p
	}
	times := map[string]float64{}
	for _, step := range s.steps {
		began := time.Now()
		if err := s.step(ctx, step); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s\n%s", step, err, s.programs[manager].lastWords(),
				s.programs[scheduler].lastWords())
		}
		times[step] = time.Since(began).Seconds()
	}
	for _, name := range []string{manager, scheduler} {
		r, err := s.result(ctx, name, of)
		if err != nil {
			return nil, err
		}
		if name == manager {
			r.Seconds = times
		}
		results = append(results, r)
	}
	return results, kubelets.failed()
}

// result is what a program says after the last step.
func (s *story) result(ctx context.Context, name string, of side) (r result, err error) {
	p := s.programs[name]
	r = result{Program: name, Side: of, Work: storyOf}
	if r.Server, err = versionOf(s.client); err != nil {
		return r, err
	}
	if r.Look, err = p.look(ctx, false); err != nil {
		return r, err
	}
	r.ToHere = p.relay.toHere.Load()
	after, err := p.look(ctx, true)
	if err != nil {
		return r, err
	}
	r.Live = int64(after.Live)
	if r.Families, err = p.families(ctx); err != nil {
		return r, err
	}
	return r, after.check(of)
}

func (s *story) step(ctx context.Context, step string) error {
	switch step {
	case created:
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: storyNamespace}}
		if _, err := s.client.CoreV1().Namespaces().Create(ctx, ns, byPeople); err != nil {
			return err
		}
		err := inParallel(ctx, s.load.Deployments, func(ctx context.Context, i int) error {
			d := deploymentAt(s.load, i)
			d.Namespace, d.Annotations = storyNamespace, nil
			_, err := s.client.AppsV1().Deployments(storyNamespace).Create(ctx, d, byPeople)
			return err
		})
		return errors.Join(err, s.until(ctx, s.complete(s.load.Replicas)))
	case scaledUp:
		return s.patchAll(ctx, fmt.Sprintf(`{"spec":{"replicas":%d}}`, s.more()))
	case rolledOut:
		return s.patchAll(ctx,
			`{"spec":{"template":{"metadata":{"annotations":{"example.com/config-checksum":"another"}}}}}`)
	case drained:
		return s.drain(ctx)
	default:
		if err := s.client.CoreV1().Namespaces().Delete(ctx, storyNamespace, metav1.DeleteOptions{}); err != nil {
			return err
		}
		return s.until(ctx, func(ctx context.Context) error {
			_, err := s.client.CoreV1().Namespaces().Get(ctx, storyNamespace, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errors.Join(errors.New("the namespace is there"), err)
		})
	}
}

// more is how many replicas there are after scaling up.
func (s *story) more() int { return s.load.Replicas + (s.load.Replicas+4)/5 }

// patchAll changes all Deployments, and waits until they are complete again.
func (s *story) patchAll(ctx context.Context, patch string) error {
	err := inParallel(ctx, s.load.Deployments, func(ctx context.Context, i int) error {
		_, err := s.client.AppsV1().Deployments(storyNamespace).Patch(ctx, appOf(i), types.StrategicMergePatchType,
			[]byte(patch),
			metav1.PatchOptions{FieldManager: byPeople.FieldManager})
		return err
	})
	return errors.Join(err, s.until(ctx, s.complete(s.more())))
}

// complete says whether each Deployment has this many pods of its newest template, all ready, and no others.
func (s *story) complete(replicas int) func(context.Context) error {
	return func(ctx context.Context) error {
		list, err := s.client.AppsV1().Deployments(storyNamespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, d := range list.Items {
			if !isComplete(&d, int32(replicas)) {
				return fmt.Errorf("%s is not complete: %+v", d.Name, d.Status)
			}
		}
		return nil
	}
}

func isComplete(d *appsv1.Deployment, replicas int32) bool {
	return d.Status.ObservedGeneration >= d.Generation && d.Status.Replicas == replicas &&
		d.Status.UpdatedReplicas == replicas && d.Status.ReadyReplicas == replicas &&
		d.Status.AvailableReplicas == replicas
}

// drain evicts the pods of one node that takes no more of them.
func (s *story) drain(ctx context.Context) error {
	pods, err := s.client.CoreV1().Pods(storyNamespace).List(ctx, metav1.ListOptions{})
	if err != nil || len(pods.Items) == 0 {
		return errors.Join(errors.New("no pods to evict"), err)
	}
	node := pods.Items[0].Spec.NodeName
	if _, err := s.client.CoreV1().Nodes().Patch(ctx, node, types.StrategicMergePatchType,
		[]byte(`{"spec":{"unschedulable":true}}`),
		metav1.PatchOptions{}); err != nil {
		return err
	}
	for _, pod := range pods.Items {
		if pod.Spec.NodeName != node {
			continue
		}
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
		err := s.client.PolicyV1().Evictions(pod.Namespace).Evict(ctx, eviction)
		if err != nil && !apierrors.IsNotFound(err) { // some still end after the roll-out
			return err
		}
	}
	return s.until(ctx, func(ctx context.Context) error {
		left, err := s.client.CoreV1().Pods(storyNamespace).List(ctx,
			metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
		if err == nil && len(left.Items) > 0 {
			err = fmt.Errorf("%d pods are left on %s", len(left.Items), node)
		}
		return errors.Join(err, s.complete(s.more())(ctx))
	})
}

// until asks often, since that is how exact the times are. An error that stays is returned.
func (s *story) until(ctx context.Context, done func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if err = done(ctx); err == nil {
			return nil
		}
		if wait(ctx, 50*time.Millisecond) != nil {
			return err
		}
	}
}
