package resource_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"

	"glasswatch/internal/apiserver/resource"
)

func TestBuiltins_EveryRowIsInTheSchemeAndAgreesWithItself(t *testing.T) {
	seen := map[string]bool{}
	for _, i := range resource.Builtins() {
		t.Run(i.GVR.String(), func(t *testing.T) {
			require.False(t, seen[i.GVR.String()], "listed twice")
			seen[i.GVR.String()] = true
			gvks, _, err := resource.Scheme.ObjectKinds(i.New())
			require.NoError(t, err)
			require.Contains(t, gvks, i.GVK)
			gvks, _, err = resource.Scheme.ObjectKinds(i.NewList())
			require.NoError(t, err)
			require.Contains(t, gvks, i.GVK.GroupVersion().WithKind(i.ListKind))
			_, err = meta.ListAccessor(i.NewList())
			require.NoError(t, err)
			plural, singular := meta.UnsafeGuessKindToResource(i.GVK)
			require.Equal(t, singular.Resource, i.Singular)
			if i.GVK.Kind != "Endpoints" {
				require.Equal(t, plural.Resource, i.GVR.Resource)
			}
		})
	}
	require.Greater(t, len(seen), 40)
}
