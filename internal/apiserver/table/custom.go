package table

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/jsonpath"

	"glasswatch/internal/apiserver/resource"
)

// customLayout prints NAME and the definition's columns, or NAME and AGE if it has none.
func customLayout(defined []apiextensionsv1.CustomResourceColumnDefinition) layout {
	if len(defined) == 0 {
		defined = []apiextensionsv1.CustomResourceColumnDefinition{{
			Name: "Age", Type: "date", Description: ageColumn.Description, JSONPath: ".metadata.creationTimestamp",
		}}
	}
	columns := []metav1.TableColumnDefinition{nameColumn}
	paths := make([]*jsonpath.JSONPath, len(defined))
	for i, c := range defined {
		columns = append(columns, metav1.TableColumnDefinition{Name: c.Name, Type: c.Type, Format: c.Format, Description: c.Description, Priority: c.Priority})
		path := jsonpath.New(c.Name).AllowMissingKeys(true)
		// Braces could add a range, and a JSONPath keeps the range's position in itself while it runs.
		if !strings.ContainsAny(c.JSONPath, "{}") && path.Parse(fmt.Sprintf("{%s}", c.JSONPath)) == nil {
			paths[i] = path
		}
	}
	return layout{columns: columns, cells: func(obj resource.Object) []any {
		cells := make([]any, len(columns))
		cells[0] = obj.GetName()
		u, ok := obj.(*unstructured.Unstructured)
		for i, c := range defined {
			if ok && paths[i] != nil {
				cells[i+1] = customCell(u.Object, paths[i], c.Type)
			}
		}
		return cells
	}}
}

// customCell is null unless the path finds a value that fits the column's type; of several values the first counts.
func customCell(content map[string]any, path *jsonpath.JSONPath, columnType string) any {
	found, err := path.FindResults(content)
	if err != nil || len(found) == 0 || len(found[0]) == 0 {
		return nil
	}
	if columnType == "string" {
		var out bytes.Buffer
		if err := path.PrintResults(&out, found[0][:1]); err != nil {
			return nil
		}
		return out.String()
	}
	return fit(found[0][0].Interface(), columnType)
}

func fit(value any, columnType string) any {
	switch columnType {
	case "integer":
		switch v := value.(type) {
		case int64:
			return v
		case float64:
			return int64(v)
		}
	case "number":
		switch v := value.(type) {
		case int64:
			return float64(v)
		case float64:
			return v
		}
	case "boolean":
		if v, ok := value.(bool); ok {
			return v
		}
	case "date":
		if v, ok := value.(string); ok {
			t, err := time.Parse(time.RFC3339, v)
			if err != nil {
				return "<invalid>"
			}
			return since(metav1.NewTime(t))
		}
	}
	return nil
}
