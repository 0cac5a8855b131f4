package install

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"

	"glasswatch/compat/cache"
)

// What a transform takes out of its object is the transform's, which may write to it at any time.
func TestInformers_WhatATransformTakesIsItsOwn(t *testing.T) {
	for name, take := range map[string]func(kept map[string]map[string]string, c *corev1.ConfigMap) any{
		"a part": func(kept map[string]map[string]string, c *corev1.ConfigMap) any {
			kept[c.Name], c.Data = c.Data, nil
			return c
		},
		"the object": func(kept map[string]map[string]string, c *corev1.ConfigMap) any {
			kept[c.Name] = c.Data
			return &corev1.ConfigMap{ObjectMeta: *c.ObjectMeta.DeepCopy()}
		},
	} {
		for _, from := range []int{1, 80} {
			for _, streaming := range []bool{true, false} {
				t.Run(fmt.Sprint(name, ", from the object ", from, ", streaming list: ", streaming), func(t *testing.T) {
					clientfeaturestesting.SetFeatureDuringTest(t, features.WatchListClient, streaming)
					inTown(t, func(t *testing.T, ctx context.Context, s *town) {
						kept, calls := map[string]map[string]string{}, map[string]bool{}
						for n := range 80 {
							s.Put(t, "default", fmt.Sprint("config-5-", n))
						}
						informer, err := NewInformer(s.client, &corev1.ConfigMap{}, Options{}, cache.SharedIndexInformerOptions{})
						require.NoError(t, err)
						require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
							c := obj.(*corev1.ConfigMap)
							if calls[c.Name] = true; len(calls) < from {
								return c, nil
							}
							return take(kept, c), nil
						}))
						run(t, ctx, informer)
						kept["config-9"]["value"] = "mine"
						s.Put(t, "default", "later")
						synctest.Wait()
						delete(kept, "config-9")
						require.Contains(t, kept, "later")
						for name, data := range kept {
							require.Equal(t, "a value of all", data["value"], name)
						}
					})
				})
			}
		}
	}
}
