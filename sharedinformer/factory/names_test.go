package factory

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/sharedinformer"
)

func TestFactory_NamesItsInformers(t *testing.T) {
	var told string
	metrics := func(informer string) sharedinformer.Metrics { told = informer; return sharedinformer.Metrics{} }
	onTheWire(t, Options{Name: "operator", Metrics: metrics}, func(t *testing.T, f *Factory, _ *wire) {
		informer, err := InformerFor[*corev1.Service](f)
		require.NoError(t, err)
		require.Equal(t, "operator/services.v1", informer.Name())
		require.Equal(t, "operator/services.v1", told)
	})
}

// widget is a custom resource with a type of its own.
type widget struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

func (w *widget) DeepCopyObject() k8sruntime.Object { out := *w; return &out }

func TestFactory_TypedUnstructuredAndMetadataInformersOnOneResourceHaveNamesOfTheirOwn(t *testing.T) {
	scheme := k8sruntime.NewScheme()
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, &widget{})
	onTheWire(t, Options{Scheme: scheme}, func(t *testing.T, f *Factory, _ *wire) {
		untyped, err := f.ForResource(widgetsGVR)
		require.NoError(t, err)
		typed, err := InformerFor[*widget](f)
		require.NoError(t, err)
		metadata, err := f.ForMetadata(widgetsGVR)
		require.NoError(t, err)
		names := []string{typed.Name(), untyped.Name(), metadata.Name()}
		require.Equal(t, []string{
			"widgets.v1.example.com", "widgets.v1.example.com (unstructured)", "widgets.v1.example.com (metadata)",
		}, names)
	})
}

func TestFactory_KnowsBuiltInTypesBesideAnySchemeOfItsOwn(t *testing.T) {
	onTheWire(t, Options{Scheme: k8sruntime.NewScheme()}, func(t *testing.T, f *Factory, _ *wire) {
		typed, err := InformerFor[*corev1.Service](f)
		require.NoError(t, err)
		byName, err := f.ForResource(nodesGVR)
		require.NoError(t, err)
		f.Start(t.Context())
		require.NoError(t, f.WaitForSync(t.Context()))
		require.Equal(t, 2, typed.Store().Len())
		require.Equal(t, 1, byName.Stats().Objects)
	})
}
