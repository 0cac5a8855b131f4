package apiserver

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"glasswatch/internal/apiserver/resource"
	"glasswatch/internal/apiserver/table"
)

// tableOf prints objects of the served version.
func (r *request) tableOf(objs []resource.Object, list *metav1.ListMeta, columns bool) (runtime.Object, error) {
	policy := metav1.IncludeObjectPolicy(r.http.URL.Query().Get("includeObject"))
	return r.printer().Table(objs, *list, table.Options{IncludeObject: policy, NoColumns: !columns}), nil
}
