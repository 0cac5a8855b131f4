package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/kubernetes"

	"glasswatch/compat/cache"
	"glasswatch/internal/apiserver/apiservertest"
)

// brokenOff is an answer whose connection breaks after some bytes.
type brokenOff struct {
	io.ReadCloser
	left int
}

func (b *brokenOff) Read(into []byte) (int, error) {
	if b.left == 0 {
		return 0, errors.New("the connection broke")
	}
	n, err := b.ReadCloser.Read(into[:min(len(into), b.left)])
	b.left -= n
	return n, err
}

// A transform gets objects of a list that then breaks off. The next list is guarded no less.
func TestInformers_ATransformOfAListThatBreaksOffChangesItsObjectOnly(t *testing.T) {
	for _, streaming := range []bool{true, false} {
		t.Run(fmt.Sprint("streaming list: ", streaming), func(t *testing.T) {
			clientfeaturestesting.SetFeatureDuringTest(t, features.WatchListClient, streaming)
			inTown(t, func(t *testing.T, ctx context.Context, s *town) {
				for n := range 200 {
					s.Put(t, "default", fmt.Sprintf("other-%03d", n))
				}
				var answers atomic.Int32
				s.config.Wrap(func(base http.RoundTripper) http.RoundTripper {
					return apiservertest.RoundTripper(func(r *http.Request) (*http.Response, error) {
						answer, err := base.RoundTrip(r)
						if n := answers.Add(1); err == nil && n == 1 {
							answer.Body = &brokenOff{answer.Body, 20 << 10}
						}
						return answer, err
					})
				})
				client, err := kubernetes.NewForConfig(s.config)
				require.NoError(t, err)
				informer, err := NewInformer(client, &corev1.ConfigMap{}, Options{}, cache.SharedIndexInformerOptions{})
				require.NoError(t, err)
				require.NoError(t, informer.SetWatchErrorHandler(func(*cache.Reflector, error) {}))
				require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
					c := obj.(*corev1.ConfigMap)
					deleteFrom(c.Name == "other-199", c.Data)
					return obj, nil
				}))
				run(t, ctx, informer)
				require.Greater(t, answers.Load(), int32(2))
				for _, key := range informer.GetStore().ListKeys() {
					require.Equal(t, key == "default/other-199", configMap(t, informer, key).Data["value"] == "", key)
				}
			})
		})
	}
}
