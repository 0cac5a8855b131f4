package custom

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// note is a kind with one field.
type note struct {
	metav1.TypeMeta
	metav1.ObjectMeta `json:"metadata"`
	Text              string `json:"text"`
}

func (n *note) DeepCopyObject() runtime.Object {
	copied := *n
	n.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

type noteList struct {
	metav1.TypeMeta
	metav1.ListMeta `json:"metadata"`
	Items           []note `json:"items"`
}

func (l *noteList) DeepCopyObject() runtime.Object {
	copied := &noteList{l.TypeMeta, *l.ListMeta.DeepCopy(), nil}
	for i := range l.Items {
		copied.Items = append(copied.Items, *l.Items[i].DeepCopyObject().(*note))
	}
	return copied
}

var notes = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "notes"}

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: notes.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Note, listKind: NoteList, plural: notes, singular: note}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {text: {type: string}}}}
`

func scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(notes.GroupVersion().WithKind("Note"), &note{})
	scheme.AddKnownTypeWithName(notes.GroupVersion().WithKind("NoteList"), &noteList{})
	metav1.AddToGroupVersion(scheme, notes.GroupVersion())
	return scheme
}

func TestDefine_ThenObjectsAreServed(t *testing.T) {
	ctx, cfg := t.Context(), apiservertest.Start(t, apiserver.Options{}).Config
	for range 2 { // the second time nothing changes
		require.NoError(t, Define(ctx, cfg, []byte(definition)))
	}
	require.Error(t, Define(ctx, cfg, []byte("spec: {groop: a}")))
	clients, err := NewClient[note, noteList](cfg, scheme(), notes)
	require.NoError(t, err)
	milk := &note{ObjectMeta: metav1.ObjectMeta{Name: "milk"}, Text: "two litres"}
	_, err = clients("default").Create(ctx, milk, metav1.CreateOptions{})
	require.NoError(t, err)
	list, err := clients("").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	require.Equal(t, "two litres", list.Items[0].Text)
	require.NoError(t, clients("default").Delete(ctx, "milk", metav1.DeleteOptions{}))
}

type agents chan string

// RoundTrip implements http.RoundTripper. The answer is an error.
func (a agents) RoundTrip(r *http.Request) (*http.Response, error) {
	a <- r.UserAgent()
	return nil, context.Canceled
}

func TestNewClient_NamesItself(t *testing.T) {
	agents := make(agents, 1)
	wrapped := apiserver.RESTConfigFor(apiserver.NewPipeListener())
	wrapped.Wrap(func(http.RoundTripper) http.RoundTripper { return agents })
	for given, want := range map[string]string{"": "custom.test/", "lister/1": "lister/1"} {
		wrapped.UserAgent = given
		clients, err := NewClient[note, noteList](wrapped, scheme(), notes)
		require.NoError(t, err)
		_, err = clients("").List(t.Context(), metav1.ListOptions{})
		require.ErrorIs(t, err, context.Canceled)
		agent := <-agents
		require.True(t, strings.HasPrefix(agent, want), agent)
	}
}
