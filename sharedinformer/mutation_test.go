package sharedinformer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"glasswatch/deltafifo"
	"glasswatch/listwatch"
)

func (s *story) object(name string) *config {
	obj, ok := s.informer.Store().GetByKey(named(name))
	require.True(s, ok)
	return obj
}

// mutate modifies what is shared, though not just while the detector looks: the race detector would be the first to tell.
func (s *story) mutate(f func()) {
	s.informer.mutated.mu.Lock()
	defer s.informer.mutated.mu.Unlock()
	f()
}

func TestMutationDetector_NamesObjectAndField(t *testing.T) {
	var found []Mutation
	opts := Options[*config]{Name: "configs", DetectMutations: true, OnMutation: func(m Mutation) { found = append(found, m) }}
	bothQueues(t, opts, func(s *story) {
		found = nil
		s.server.Put("a", "1")
		s.server.Put("b", "1")
		s.Start()
		s.server.Put("b", "2")
		s.Pass(10 * time.Second)
		require.Empty(s, found, "nobody has touched anything")
		b := s.object("b")
		s.mutate(func() { b.Data["value"] = "mine" })
		s.Pass(mutationPeriod)
		require.Equal(s, []Mutation{{
			Informer: "configs", Key: named("b"), ResourceVersion: "3",
			Path: `Data["value"]`, Was: "2", Is: "mine",
		}}, found)
		require.Equal(s, `informer configs: object default/b@3 was modified: Data["value"] was 2 and is mine`, found[0].String())
		s.Pass(time.Minute)
		require.Len(s, found, 1, "it is told once")
	})
}

func TestMutationDetector_LooksOnceMoreAfterTheLastHandler(t *testing.T) {
	var found []Mutation
	opts := Options[*config]{DetectMutations: true, OnMutation: func(m Mutation) { found = append(found, m) }}
	inVirtualTime(t, opts, func(s *story) {
		goOn := make(chan struct{})
		s.Add(HandlerFuncs[*config]{AddFunc: func(obj *config, _ bool) { <-goOn; obj.Labels = map[string]string{"by": "handler"} }}, HandlerOptions{})
		s.server.Put("a", "1")
		s.Start()
		s.cancel()
		s.Settle()
		close(goOn)
		s.Stop()
		require.Len(s, found, 1)
		require.Equal(s, `ObjectMeta.Labels["by"]`, found[0].Path)
	})
}

func TestMutationDetector_WatchesWhatLeftTheStoreForTwoMinutes(t *testing.T) {
	var found []Mutation
	opts := Options[*config]{DetectMutations: true, OnMutation: func(m Mutation) { found = append(found, m) }}
	inVirtualTime(t, opts, func(s *story) {
		s.server.Put("a", "1")
		s.Start()
		first := s.object("a")
		s.server.Put("a", "2")
		s.Pass(mutationRetain)
		second := s.object("a")
		s.server.Put("a", "3")
		s.Pass(mutationPeriod)
		s.mutate(func() { first.Data["value"], second.Data["value"] = "too late", "seen" })
		s.Pass(mutationPeriod)
		require.Len(s, found, 1)
		require.Equal(s, "2", found[0].Was)
		s.server.Put("b", "1")
		s.server.Delete("a")
		s.Settle()
		s.server.Unobserved(func() { s.server.Delete("b") })
		s.Pass(3*time.Second + mutationRetain)
		require.Empty(s, s.informer.mutated.former, "its memory is free")
		require.Empty(s, s.informer.mutated.current)
	})
}

func TestMutationDetector_ResyncDoesNotCoverUpAMutation(t *testing.T) {
	var found []Mutation
	d := newMutationDetector(&Options[*config]{DetectMutations: true, OnMutation: func(m Mutation) { found = append(found, m) }})
	obj := &config{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"value": "1"}}
	d.add([]delta[*config]{{Type: deltafifo.Added, Key: listwatch.KeyOf(obj), Obj: obj}})
	obj.Data["value"] = "mine"
	d.add([]delta[*config]{{Type: deltafifo.Sync, Key: listwatch.KeyOf(obj), Obj: obj}})
	d.add([]delta[*config]{{Type: deltafifo.SyncAll}})
	d.check()
	require.Len(t, found, 1)
	require.Equal(t, "1", found[0].Was)
}

func TestMutationDetector_PanicsUnlessToldOtherwise(t *testing.T) {
	obj := &config{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	d := newMutationDetector(&Options[*config]{Name: "configs", DetectMutations: true})
	d.add([]delta[*config]{{Type: deltafifo.Added, Key: listwatch.KeyOf(obj), Obj: obj}})
	d.check()
	obj.Annotations = map[string]string{}
	require.PanicsWithValue(t, "informer configs: object /a@ was modified: ObjectMeta.Annotations was map[] and is map[]", d.check)
}

func TestMutationDetector_IsOffUnlessTheEnvironmentSaysOtherwise(t *testing.T) {
	require.Nil(t, newMutationDetector(&Options[*config]{}))
	t.Setenv("KUBE_CACHE_MUTATION_DETECTOR", "true")
	require.NotNil(t, newMutationDetector(&Options[*config]{}))
}

func TestFirstDifference_GoesAsDeepAsItCan(t *testing.T) {
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		seconds := int64(5)
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"a": "1", "b": "2"}},
			Spec:       corev1.PodSpec{TerminationGracePeriodSeconds: &seconds, Containers: []corev1.Container{{Name: "c", Args: []string{"x", "y"}}}},
		}
		change(p)
		return p
	}
	custom := func(value any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"ports": []any{int64(1), value}}}}
	}
	for path, values := range map[string][2]any{
		`ObjectMeta.Labels["b"]`:                  {pod(func(p *corev1.Pod) {}), pod(func(p *corev1.Pod) { p.Labels["b"] = "3" })},
		`ObjectMeta.Labels["c"]`:                  {pod(func(p *corev1.Pod) {}), pod(func(p *corev1.Pod) { p.Labels["c"] = "3" })},
		`ObjectMeta.Labels["a"]`:                  {pod(func(p *corev1.Pod) {}), pod(func(p *corev1.Pod) { delete(p.Labels, "a") })},
		`Spec.Containers[0].Args[1]`:              {pod(func(p *corev1.Pod) {}), pod(func(p *corev1.Pod) { p.Spec.Containers[0].Args[1] = "z" })},
		`Spec.Containers`:                         {pod(func(p *corev1.Pod) {}), pod(func(p *corev1.Pod) { p.Spec.Containers = nil })},
		`Spec.TerminationGracePeriodSeconds`:      {pod(func(p *corev1.Pod) {}), pod(func(p *corev1.Pod) { *p.Spec.TerminationGracePeriodSeconds = 6 })},
		`ObjectMeta.CreationTimestamp.Time.wall`:  {pod(func(p *corev1.Pod) {}), pod(func(p *corev1.Pod) { p.CreationTimestamp.Time = time.Unix(1, 7).UTC() })},
		`Object["spec"]["ports"][1]`:              {custom(int64(2)), custom(int64(3))},
		`Object["spec"]["ports"][1]["protocol"]`:  {custom(map[string]any{"protocol": "TCP"}), custom(map[string]any{"protocol": "UDP"})},
		`Object["spec"]["ports"][1]` + " by type": {custom(int64(2)), custom("2")},
	} {
		d := firstDifference(values[0], values[1])
		if path == `Object["spec"]["ports"][1]`+" by type" {
			path = `Object["spec"]["ports"][1]`
		}
		require.Equal(t, path, d.path)
		require.NotEqual(t, d.was, d.is, path)
	}
}
