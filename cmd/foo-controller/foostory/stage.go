package foostory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"

	"glasswatch/cmd/foo-controller/api/v1alpha1"
	"glasswatch/cmd/foo-controller/client"
	"glasswatch/internal/actors"
	"glasswatch/internal/apiserver/apiservertest"
)

// storyteller is the field manager of the story's own writes.
const storyteller = "story"

// stage is the namespace of a story, and what was written down of it.
type stage struct {
	t          *testing.T
	ns         string
	kube       kubernetes.Interface
	foos       *client.Foos
	raw        dynamic.ResourceInterface // Foos with all that they have, not only what the type knows
	actor      *actors.Workloads
	running    Running // the program, once it was started
	transcript strings.Builder
	steps      int
	before     map[string]int32  // how often each Event was seen before this step
	shown      map[string]string // each object as it was last written down
}

// newStage makes the namespace, defines the Foo, and plays the Deployment controller until the test ends.
func newStage(t *testing.T, cfg *rest.Config, namespace string) *stage {
	kube, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	foos, err := client.New(cfg)
	require.NoError(t, err)
	require.NoError(t, client.Define(t.Context(), cfg))
	_, err = kube.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	require.NoError(t, err)
	raw, err := dynamic.NewForConfig(cfg)
	require.NoError(t, err)
	actor := actors.New(kube, namespace)
	ctx, stop := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	ended := make(chan error, 1)
	go func() { ended <- actor.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return &stage{t: t, ns: namespace, kube: kube, foos: foos(namespace), actor: actor,
		raw: raw.Resource(v1alpha1.Resource).Namespace(namespace), shown: map[string]string{}}
}

// step writes down what the step before has done, and begins another once no more of its Events come.
func (s *stage) step(title string) {
	s.before = s.rest()
	s.steps++
	if s.steps > 1 {
		s.show()
	}
	fmt.Fprintf(&s.transcript, "\n== %d. %s\n", s.steps, title)
}

// start starts the program, whose log is shown if the story fails.
func (s *stage) start(program Program) {
	s.running = program(s.t)
	log := s.running.Log
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Logf("the program's log:\n%s", log())
		}
	})
}

// eventually waits for a condition, unless the program has ended by itself: then nothing more is to be expected.
func (s *stage) eventually(check func() error) {
	s.t.Helper()
	apiservertest.Eventually(s.t, fmt.Sprintf("step %d", s.steps), func() error {
		s.t.Helper()
		err := check()
		if err != nil && s.running.Ended != nil && s.running.Ended() {
			s.t.Fatalf("step %d: the program has ended by itself: %v", s.steps, err)
		}
		return err
	})
}

func (s *stage) tryCreate(name, deployment string, replicas int32) error {
	foo := &v1alpha1.Foo{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.FooSpec{DeploymentName: deployment, Replicas: &replicas}}
	_, err := s.foos.Create(s.t.Context(), foo, metav1.CreateOptions{FieldManager: storyteller})
	return err
}

func (s *stage) create(name, deployment string, replicas int32) {
	require.NoError(s.t, s.tryCreate(name, deployment, replicas))
}

func (s *stage) tryEdit(name string, edit func(foo *v1alpha1.Foo)) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		foo := s.foo(name)
		edit(foo)
		_, err := s.foos.Update(s.t.Context(), foo, metav1.UpdateOptions{FieldManager: storyteller})
		return err
	})
}

func (s *stage) edit(name string, edit func(foo *v1alpha1.Foo)) {
	require.NoError(s.t, s.tryEdit(name, edit))
}

func (s *stage) delete(name string) {
	require.NoError(s.t, s.foos.Delete(s.t.Context(), name, metav1.DeleteOptions{}))
}

func (s *stage) foo(name string) *v1alpha1.Foo {
	foo, err := s.foos.Get(s.t.Context(), name, metav1.GetOptions{})
	require.NoError(s.t, err)
	return foo
}

func (s *stage) deployment(name string) *appsv1.Deployment {
	deployment, err := s.kube.AppsV1().Deployments(s.ns).Get(s.t.Context(), name, metav1.GetOptions{})
	require.NoError(s.t, err)
	return deployment
}

// events are all Events of Foos, and how often each was seen.
func (s *stage) events() map[string]int32 {
	list, err := s.kube.CoreV1().Events(s.ns).List(s.t.Context(), metav1.ListOptions{})
	require.NoError(s.t, err)
	seen := map[string]int32{}
	for _, e := range list.Items {
		of := e.InvolvedObject
		seen[fmt.Sprintf("Event of %s %s %s: %s %s from %s: %s", of.APIVersion, of.Kind, of.Name, e.Type, e.Reason,
			e.Source.Component, e.Message)] += e.Count
	}
	return seen
}

// rest waits until no Event was seen for a while, and returns how often each was. Events are sent after the writes that
// they are about.
func (s *stage) rest() map[string]int32 {
	seen, since := s.events(), time.Now()
	s.eventually(func() error {
		if now := s.events(); !maps.Equal(now, seen) {
			seen, since = now, time.Now()
		}
		if time.Since(since) < 200*time.Millisecond {
			return errors.New("there are more Events all the time")
		}
		return nil
	})
	return seen
}

// more waits until an Event of this reason was seen more often than before the step.
func (s *stage) more(foo, reason string) {
	s.t.Helper()
	s.eventually(func() error {
		for event, times := range s.events() {
			if strings.Contains(event, " Foo "+foo+": ") && strings.Contains(event, " "+reason+" ") &&
				times > s.before[event] {
				return nil
			}
		}
		return errors.New("no more Events " + reason + " of " + foo)
	})
}

// show writes down each object that has changed since it was shown, the Events of this step, and what is gone.
func (s *stage) show() {
	deployments, err := s.kube.AppsV1().Deployments(s.ns).List(s.t.Context(), metav1.ListOptions{})
	require.NoError(s.t, err)
	foos, err := s.raw.List(s.t.Context(), metav1.ListOptions{})
	require.NoError(s.t, err)
	now := map[string]string{}
	for i := range foos.Items {
		now["Foo "+foos.Items[i].GetName()] = s.normal(&foos.Items[i])
	}
	for i := range deployments.Items {
		now["Deployment "+deployments.Items[i].Name] = s.normal(&deployments.Items[i])
	}
	for event := range s.events() {
		now[event] = ""
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if text, known := s.shown[name]; !known {
			s.transcript.WriteString(name + "\n" + now[name])
		} else if text != now[name] {
			s.transcript.WriteString(name + " has changed\n" + without(text, now[name], "- ") + without(now[name], text,
				"+ "))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.shown)) {
		if _, stays := now[name]; !stays {
			s.transcript.WriteString(name + " is gone\n")
		}
	}
	s.shown = now
}

// without are the lines of a text that another does not have.
func without(text, other, sign string) (lines string) {
	for line := range strings.Lines(text) {
		if !strings.Contains("\n"+other, "\n"+line) {
			lines += sign + line
		}
	}
	return lines
}

// normal is an object as YAML, without what differs between two good runs.
func (s *stage) normal(object metav1.Object) string {
	object.SetUID("")
	object.SetResourceVersion("")
	object.SetCreationTimestamp(metav1.Time{})
	owners := object.GetOwnerReferences()
	for i := range owners {
		owners[i].UID = ""
	}
	object.SetOwnerReferences(owners)
	managers := object.GetManagedFields()
	for i := range managers {
		managers[i] = metav1.ManagedFieldsEntry{Manager: managers[i].Manager, Operation: managers[i].Operation,
			Subresource: managers[i].Subresource}
	}
	slices.SortFunc(managers, func(a, b metav1.ManagedFieldsEntry) int {
		return strings.Compare(a.Manager+a.Subresource, b.Manager+b.Subresource)
	})
	object.SetManagedFields(managers)
	if d, ok := object.(*appsv1.Deployment); ok {
		for i := range d.Status.Conditions {
			condition := &d.Status.Conditions[i]
			condition.LastUpdateTime, condition.LastTransitionTime = metav1.Time{}, metav1.Time{}
		}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	require.NoError(s.t, err)
	text, err := yaml.Marshal(content)
	require.NoError(s.t, err)
	return "  " + strings.ReplaceAll(strings.TrimSuffix(empty.ReplaceAllString(string(text), ""), "\n"), "\n",
		"\n  ") + "\n"
}

// empty are the fields that normal has taken the value from.
var empty = regexp.MustCompile(`(?m)^ *[A-Za-z]+: (null|"")\n|last(Transition|Update)Time: null\n +`)

// transient are errors that depend on time: a cache that is behind, and a program that was stopped at work.
var transient = regexp.MustCompile(`the object has been modified|already exists" |context canceled|cannot find RESTMapping`)

// log writes down the lines of a program's log that this story is about, each once.
func (s *stage) log(text string) {
	lines := map[string]bool{}
	for line := range strings.Lines(text) {
		_, line, _ = strings.Cut(line, "] ")
		for _, start := range []string{`"Foo referenced by`, `"Deployment name missing`, `"Error syncing`} {
			if strings.HasPrefix(line, start) && !transient.MatchString(line) {
				lines[line] = true
			}
		}
	}
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		s.transcript.WriteString(line)
	}
}
