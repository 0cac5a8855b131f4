package foostory

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"glasswatch/cmd/foo-controller/api/v1alpha1"
)

// Golden is the transcript of the story.
//
//go:embed testdata/story.txt
var Golden string

// Story plays against the server of cfg, in a namespace of its own, and returns the transcript. It needs all rights.
func Story(t *testing.T, cfg *rest.Config, namespace string, program Program) string {
	s := newStage(t, cfg, namespace)
	s.start(program)

	s.step("create")
	s.create("example", "example", 2)
	s.follows("example", "example", 2)

	s.step("scale")
	s.edit("example", func(foo *v1alpha1.Foo) { foo.Spec.Replicas = new(int32(3)) })
	s.follows("example", "example", 3)

	s.step("refused: 11 replicas")
	s.refused(func() error { return s.tryCreate("eleven", "eleven", 11) })
	s.refused(func() error {
		return s.tryEdit("example", func(foo *v1alpha1.Foo) { foo.Spec.Replicas = new(int32(11)) })
	})

	s.step("rename: the first Deployment stays behind")
	s.edit("example", func(foo *v1alpha1.Foo) { foo.Spec.DeploymentName = "renamed" })
	s.follows("example", "renamed", 3)

	s.step("delete the Deployment")
	uid := s.deployment("renamed").UID
	require.NoError(t, s.kube.AppsV1().Deployments(s.ns).Delete(t.Context(), "renamed", metav1.DeleteOptions{}))
	s.eventually(func() error {
		if d, err := s.kube.AppsV1().Deployments(s.ns).Get(t.Context(), "renamed", metav1.GetOptions{}); err != nil ||
			d.UID == uid {
			return fmt.Errorf("it did not come back: %w", err)
		}
		return nil
	})
	s.follows("example", "renamed", 3)
	s.transcript.WriteString("Deployment renamed has come back as another object\n")

	s.step("foreign: a Deployment that somebody else made")
	s.foreign("foreign")
	s.create("late", "foreign", 1)
	s.more("late", "ErrResourceExists")

	s.step("foreign: once it is gone, a retry makes ours")
	require.NoError(t, s.kube.AppsV1().Deployments(s.ns).Delete(t.Context(), "foreign", metav1.DeleteOptions{}))
	s.follows("late", "foreign", 1)

	s.step("gone: a Foo is deleted while a retry waits")
	s.create("lost", "example", 1) // which is another Foo's
	s.more("lost", "ErrResourceExists")
	s.delete("lost")
	s.said(`"Foo referenced by item in work queue no longer exists"`, `objectReference="`+s.ns+`/lost"`)

	s.step("nameless: a Foo without the name of a Deployment")
	s.create("nameless", "", 1)
	s.said(`"Deployment name missing from object reference"`, `objectReference="`+s.ns+`/nameless"`)

	s.step("held: a Deployment that does not get available")
	s.actor.Hold("held")
	s.create("held", "held", 2)
	s.follows("held", "held", 0)

	s.step("restart: changes while nobody looks")
	s.running.Stop()
	before := s.running.Log()
	s.edit("example", func(foo *v1alpha1.Foo) { foo.Spec.Replicas = new(int32(1)) })
	s.create("meanwhile", "meanwhile", 1)
	s.start(program)
	s.follows("example", "renamed", 1)
	s.follows("meanwhile", "meanwhile", 1)

	s.step("stop, and delete the Foo: the garbage collector deletes both its Deployments")
	s.running.Stop()
	s.delete("example")
	s.gone("example")
	s.gone("renamed")
	s.step("the log")
	s.log(before + s.running.Log())
	return strings.ReplaceAll(s.transcript.String(), s.ns, "NAMESPACE")
}

// foreign creates a Deployment without an owner.
func (s *stage) foreign(name string) {
	labels := map[string]string{"app": name}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "httpd"}}}},
	}}
	_, err := s.kube.AppsV1().Deployments(s.ns).Create(s.t.Context(), deployment,
		metav1.CreateOptions{FieldManager: storyteller})
	require.NoError(s.t, err)
	s.eventually(func() error { return available(s.deployment(name), 1) })
}

// follows waits until the Foo has its Deployment with so many replicas available, says so, and was synced in this step.
func (s *stage) follows(foo, deployment string, replicas int32) {
	s.t.Helper()
	s.eventually(func() error {
		d, err := s.kube.AppsV1().Deployments(s.ns).Get(s.t.Context(), deployment, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := available(d, replicas); err != nil {
			return err
		}
		f := s.foo(foo)
		if said := ptr.Deref(f.Status.AvailableReplicas, -1); said != replicas || !metav1.IsControlledBy(d, f) {
			return fmt.Errorf("foo %s: %d available, want %d; controlled: %t", foo, said, replicas,
				metav1.IsControlledBy(d, f))
		}
		return nil
	})
	s.more(foo, "Synced")
}

func available(d *appsv1.Deployment, replicas int32) error {
	if d.Status.AvailableReplicas != replicas || d.Status.ObservedGeneration != d.Generation {
		return fmt.Errorf("deployment %s: want %d available, got %+v", d.Name, replicas, d.Status)
	}
	return nil
}

// gone waits until there is no such Deployment.
func (s *stage) gone(name string) {
	s.eventually(func() error {
		_, err := s.kube.AppsV1().Deployments(s.ns).Get(s.t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is still there: "+name), err)
	})
}

// refused wants an error, and writes it down.
func (s *stage) refused(do func() error) {
	err := do()
	require.True(s.t, apierrors.IsInvalid(err), "%v", err)
	fmt.Fprintf(&s.transcript, "refused: %v\n", err)
}

// said waits for a line of the log with these texts.
func (s *stage) said(texts ...string) {
	s.t.Helper()
	s.eventually(func() error {
		for line := range strings.Lines(s.running.Log()) {
			if strings.Contains(line, texts[0]) && strings.Contains(line, texts[1]) {
				return nil
			}
		}
		return fmt.Errorf("no line of the log with %q", texts)
	})
}
