package table_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/internal/apiserver/resource"
	"glasswatch/internal/apiserver/table"
)

func custom(columns ...apiextensionsv1.CustomResourceColumnDefinition) *table.Printer {
	return table.For(&resource.Info{GVK: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, Custom: &resource.Custom{Columns: columns}})
}

func TestTable_CustomColumns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		widget := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "w", "creationTimestamp": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)},
			"spec": map[string]any{"size": int64(3), "ratio": 0.5, "on": true, "color": "red", "when": "yesterday", "tags": []any{"a", "b"},
				"conditions": []any{map[string]any{"type": "Up", "status": "False"}, map[string]any{"type": "Ready", "status": "True"}}},
		}}
		var columns []apiextensionsv1.CustomResourceColumnDefinition
		add := func(name, columnType, path string) {
			columns = append(columns, apiextensionsv1.CustomResourceColumnDefinition{Name: name, Type: columnType, JSONPath: path, Priority: int32(len(columns) % 2)})
		}
		add("Size", "integer", ".spec.size")
		add("Ratio", "number", ".spec.ratio")
		add("Trunc", "integer", ".spec.ratio")
		add("On", "boolean", ".spec.on")
		add("Color", "string", ".spec.color")
		add("Number", "string", ".spec.size")
		add("Tags", "string", ".spec.tags")
		add("First", "string", ".spec.tags[*]")
		add("Ready", "string", `.spec.conditions[?(@.type=="Ready")].status`)
		add("Missing", "string", ".spec.nope.deeper")
		add("Misfit", "integer", ".spec.color")
		add("Born", "date", ".metadata.creationTimestamp")
		add("When", "date", ".spec.when")
		add("Broken", "string", ".spec[")
		add("Range", "string", ".spec}{range .spec.tags[*]}{@}{end")
		tab := custom(columns...).Table([]resource.Object{widget}, metav1.ListMeta{}, table.Options{})
		require.Equal(t, []any{"w", int64(3), 0.5, int64(0), true, "red", "3", `["a","b"]`, "a", "True", nil, nil, "60m", "<invalid>", nil, nil}, tab.Rows[0].Cells)
		require.Equal(t, int32(1), tab.ColumnDefinitions[2].Priority)

		require.Equal(t, "NAME   AGE\nw      60m", text(custom().Table([]resource.Object{widget}, metav1.ListMeta{}, table.Options{})))
	})
}

func TestTable_RowsCarryWhatIsAskedFor(t *testing.T) {
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"a": "b"}}, Spec: corev1.ServiceSpec{Type: "ClusterIP"}}
	included := func(policy metav1.IncludeObjectPolicy) string {
		tab := printer(t, "", "Service").Table([]resource.Object{svc}, metav1.ListMeta{ResourceVersion: "7", Continue: "c", RemainingItemCount: ptr(int64(2))}, table.Options{IncludeObject: policy})
		b, err := json.Marshal(tab)
		require.NoError(t, err)
		read := struct {
			Kind, APIVersion string
			Metadata         metav1.ListMeta
			Rows             []struct{ Object json.RawMessage }
		}{}
		require.NoError(t, json.Unmarshal(b, &read))
		require.Equal(t, "meta.k8s.io/v1 Table", read.APIVersion+" "+read.Kind)
		require.Equal(t, metav1.ListMeta{ResourceVersion: "7", Continue: "c", RemainingItemCount: ptr(int64(2))}, read.Metadata)
		return string(read.Rows[0].Object)
	}
	require.JSONEq(t, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"web","labels":{"a":"b"}}}`, included(""))
	require.Equal(t, included(""), included(metav1.IncludeMetadata))
	require.Equal(t, "null", included(metav1.IncludeNone))
	require.Contains(t, included(metav1.IncludeObject), `"kind":"Service","apiVersion":"v1"`)
	require.Contains(t, included(metav1.IncludeObject), `"type":"ClusterIP"`)
	require.Empty(t, svc.Kind, "the stored object is not touched")

	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "w", "labels": map[string]any{"a": "b"}}}}
	require.Equal(t, map[string]string{"a": "b"}, table.Metadata(u).Labels)
}

func TestTable_EmptyListHasRowsAndAWatchMayLeaveOutTheColumns(t *testing.T) {
	b, err := json.Marshal(printer(t, "", "Service").Table(nil, metav1.ListMeta{}, table.Options{}))
	require.NoError(t, err)
	require.Contains(t, string(b), `"rows":[]`)
	tab := printer(t, "", "Service").Table([]resource.Object{&corev1.Service{}}, metav1.ListMeta{}, table.Options{NoColumns: true})
	require.Nil(t, tab.ColumnDefinitions)
	require.Len(t, tab.Rows, 1)
}

func Example() {
	for _, info := range resource.Builtins() {
		if info.GVK.Kind != "Service" {
			continue
		}
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", CreationTimestamp: metav1.Now()},
			Spec: corev1.ServiceSpec{Type: "ClusterIP", ClusterIP: "10.0.0.7", Ports: []corev1.ServicePort{{Port: 80, Protocol: "TCP"}}}}
		tab := table.For(info).Table([]resource.Object{svc}, metav1.ListMeta{}, table.Options{})
		for i, cell := range tab.Rows[0].Cells {
			fmt.Fprintf(os.Stdout, "%s=%v ", tab.ColumnDefinitions[i].Name, cell)
		}
	}
	// Output: Name=web Type=ClusterIP Cluster-IP=10.0.0.7 External-IP=<none> Port(s)=80/TCP Age=0s Selector=<none>
}
