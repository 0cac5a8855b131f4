package reflector

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"glasswatch/listwatch"
)

// guarded is an object that notes whether it is read after it was given away.
type guarded struct {
	corev1.ConfigMap
	givenAway, readAfterwards bool
}

func (g *guarded) GetName() string {
	g.readAfterwards = g.readAfterwards || g.givenAway
	return g.Name
}

// taker is a sink that owns what it is given. The methods that it lacks are not called.
type taker struct{ Sink[*guarded] }

func (taker) Add(obj *guarded) error {
	obj.givenAway = true
	return nil
}

func TestPut_DoesNotReadWhatTheSinkOwns(t *testing.T) {
	r := New[*guarded](nil, taker{}, Options{})
	obj := &guarded{}
	r.put(t.Context(), []listwatch.Event[*guarded]{{Type: listwatch.Added, Object: obj}})
	require.True(t, obj.givenAway)
	require.False(t, obj.readAfterwards)
}
