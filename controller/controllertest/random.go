package controllertest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Move is what a user may do at any time, for Scenario.Moves. If its object is not there, it does nothing.
type Move struct {
	err  error
	draw func(random *rand.Rand) Step
}

// Mutate sets a field, such as ".spec.replicas", to one of the values. target is as with Patch. The values are written as JSON.
func Mutate(target, field string, values ...any) Move {
	if !strings.HasPrefix(field, ".") || len(values) == 0 {
		return Move{err: fmt.Errorf("Mutate wants a field such as .spec.replicas and at least one value, got %q and %v", field, values)}
	}
	return Move{draw: func(random *rand.Rand) Step {
		value := values[random.IntN(len(values))]
		return Step{name: fmt.Sprintf("mutate %s %s to %v", target, field, value), do: func(ctx context.Context, c *cluster) error {
			client, name, err := c.find(target)
			if err != nil {
				return err
			}
			content := value
			for _, key := range slices.Backward(strings.Split(field[1:], ".")) {
				content = map[string]any{key: content}
			}
			patch, err := json.Marshal(content)
			if err != nil {
				return err
			}
			_, err = client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "user"})
			return ifThere(err)
		}}
	}}
}

// DeleteAny deletes one object of a kind in the background, such as a child of the program's, but none of the server's own, such as the Service
// "kubernetes".
func DeleteAny(kind string) Move {
	return Move{draw: func(random *rand.Rand) Step {
		number := random.IntN(1000)
		return Step{name: "delete any " + kind, do: func(ctx context.Context, c *cluster) error {
			gvr, err := mapped(c, func(m meta.RESTMapper) (schema.GroupVersionResource, error) {
				return m.ResourceFor(schema.GroupVersionResource{Resource: strings.ToLower(kind)})
			})
			if err != nil {
				return err
			}
			list, err := c.client.Resource(gvr).List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			some := slices.DeleteFunc(list.Items, func(obj unstructured.Unstructured) bool { return c.first[string(obj.GetUID())] })
			if len(some) == 0 {
				return nil
			}
			obj := some[number%len(some)] // lists are sorted by name
			background := metav1.DeletePropagationBackground
			return ifThere(c.client.Resource(gvr).Namespace(obj.GetNamespace()).Delete(ctx, obj.GetName(), metav1.DeleteOptions{PropagationPolicy: &background}))
		}}
	}}
}

// Rename deletes an object and creates it under another name, without status, owners and finalizers; or back, if only the other one is there.
// If an object waits for its finalizer under the name that it is to get, nothing is created.
func Rename(target, name string) Move {
	return Move{draw: func(*rand.Rand) Step {
		return Step{name: "rename " + target + " to " + name, do: func(ctx context.Context, c *cluster) error {
			client, from, err := c.find(target)
			if err != nil {
				return err
			}
			to := name
			obj, err := client.Get(ctx, from, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				from, to = to, from
				obj, err = client.Get(ctx, from, metav1.GetOptions{})
			}
			if err != nil {
				return ifThere(err)
			}
			background := metav1.DeletePropagationBackground
			err = client.Delete(ctx, from, metav1.DeleteOptions{PropagationPolicy: &background})
			if err != nil {
				return ifThere(err)
			}
			_, err = client.Create(ctx, underName(obj, to), metav1.CreateOptions{FieldManager: "user"})
			if apierrors.IsAlreadyExists(err) {
				return nil
			}
			return err
		}}
	}}
}

// underName is an object as a user would write it.
func underName(obj *unstructured.Unstructured, name string) *unstructured.Unstructured {
	renamed := obj.DeepCopy()
	metadata := map[string]any{"name": name}
	for _, field := range []string{"namespace", "labels", "annotations"} {
		value, found, _ := unstructured.NestedFieldNoCopy(renamed.Object, "metadata", field)
		if found {
			metadata[field] = value
		}
	}
	renamed.Object["metadata"] = metadata
	delete(renamed.Object, "status")
	return renamed
}

func ifThere(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// movesDrawn is how many moves follow the steps of a scenario.
const movesDrawn = 5

// drawn returns a scenario whose moves have become steps. Half of them come when all has settled.
func (s Scenario) drawn(seed uint64) Scenario {
	random := rand.New(rand.NewPCG(seed, 1))
	pauses := []Step{Settle(), Settle(), Wait(time.Second), Wait(time.Minute)}
	s.Steps = slices.Clone(s.Steps)
	for range movesDrawn {
		s.Steps = append(s.Steps, s.Moves[random.IntN(len(s.Moves))].draw(random), pauses[random.IntN(len(pauses))])
	}
	s.Steps = append(s.Steps, Settle())
	s.seed = seed
	return s
}

// namesFrom names the steps from that index on.
func (s *Scenario) namesFrom(from int) string {
	var names []string
	for _, step := range s.Steps[from:] {
		names = append(names, step.name)
	}
	return strings.Join(names, ", ")
}
