package openapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"glasswatch/internal/apiserver/openapi"
	"glasswatch/internal/apiserver/resource"
)

func Example() {
	s := &openapi.Service{Version: "v1.37.2"}
	s.Update(resource.Builtins())
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi/v3/apis/networking.k8s.io/v1", nil))
	var doc struct {
		Paths map[string]struct {
			Patch struct{ Parameters []struct{ Name string } }
		}
		Components struct {
			Schemas map[string]struct{ Required []string }
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		panic(err)
	}
	fmt.Println(doc.Paths["/apis/networking.k8s.io/v1/namespaces/{namespace}/ingresses/{name}"].Patch.Parameters)
	fmt.Println(doc.Components.Schemas["io.k8s.api.networking.v1.HTTPIngressPath"].Required)
	// Output:
	// [{dryRun} {fieldManager} {fieldValidation} {force}]
	// [pathType backend]
}
