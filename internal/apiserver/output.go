package apiserver

import (
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"glasswatch/internal/apiserver/resource"
)

// write sends a stored object, or any other object (a Status, a list) as it is.
func (r *request) write(w http.ResponseWriter, code int, obj runtime.Object) error {
	out, err := r.shape(obj)
	if err != nil {
		return err
	}
	return writeEncoded(w, r.http, r.format, code, out)
}

// shape turns a single object into what the client asked for.
func (r *request) shape(obj runtime.Object) (runtime.Object, error) {
	if status, ok := obj.(*metav1.Status); ok {
		return status, nil
	}
	o, ok := obj.(resource.Object)
	if !ok {
		return obj, nil
	}
	o = r.served(o)
	switch r.format.as {
	case asTable:
		return r.tableOf([]resource.Object{o}, &metav1.ListMeta{ResourceVersion: o.GetResourceVersion()}, true)
	case asPartial:
		return partial(o), nil
	case asPartialList:
		return nil, notAcceptableError(fmt.Sprintf("you requested PartialObjectMetadataList, but the requested object is not a list (%s)", r.GVK.Kind))
	}
	return o, nil
}

// shapeList turns stored objects into the kind of list that the client asked for.
func (r *request) shapeList(objs []resource.Object, listMeta metav1.ListMeta) (runtime.Object, error) {
	for i, o := range objs {
		objs[i] = r.served(o)
	}
	if r.format.as != "" {
		listMeta.ShardInfo = nil // a real server does not copy it
	}
	switch r.format.as {
	case asTable:
		return r.tableOf(objs, &listMeta, true)
	case asPartial:
		return nil, notAcceptableError(fmt.Sprintf("you requested PartialObjectMetadata, but the requested object is a list (%s)", r.ListKind))
	case asPartialList:
		list := &metav1.PartialObjectMetadataList{ListMeta: listMeta, Items: make([]metav1.PartialObjectMetadata, len(objs))}
		list.TypeMeta = metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}
		for i, o := range objs {
			list.Items[i] = *partial(o)
		}
		return list, nil
	}
	return r.listOf(objs, listMeta)
}

func partial(o resource.Object) *metav1.PartialObjectMetadata {
	p := meta.AsPartialObjectMetadata(o)
	p.TypeMeta = metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}
	return p
}

// listOf builds a list of the resource. The items share their insides with the stored objects.
func (r *request) listOf(objs []resource.Object, listMeta metav1.ListMeta) (runtime.Object, error) {
	list := r.NewList()
	list.GetObjectKind().SetGroupVersionKind(r.GVK.GroupVersion().WithKind(r.ListKind))
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	accessor.SetResourceVersion(listMeta.ResourceVersion)
	accessor.SetContinue(listMeta.Continue)
	accessor.SetRemainingItemCount(listMeta.RemainingItemCount)
	if sharded, ok := list.(metav1.ShardedListInterface); ok { // no list of custom resources is one
		sharded.SetShardInfo(listMeta.ShardInfo)
	}
	if u, ok := list.(*unstructured.UnstructuredList); ok {
		u.Items = make([]unstructured.Unstructured, len(objs))
		for i, o := range objs {
			u.Items[i] = *o.(*unstructured.Unstructured)
		}
		return u, nil
	}
	items := reflect.ValueOf(list).Elem().FieldByName("Items")
	items.Set(reflect.MakeSlice(items.Type(), len(objs), len(objs)))
	for i, o := range objs {
		items.Index(i).Set(reflect.ValueOf(o).Elem())
		items.Index(i).FieldByName("TypeMeta").SetZero() // the kind of the list says it all
	}
	return list, nil
}

func (r *request) writeError(w http.ResponseWriter, err error) {
	f := r.format
	f.as = ""
	if f.info.Serializer == nil {
		f = jsonFormat
	}
	writeStatus(w, r.http, f, err)
}

func writeStatus(w http.ResponseWriter, req *http.Request, f format, err error) {
	status := statusOf(err)
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	_ = writeEncoded(w, req, f, int(status.Code), status)
}

// writeEncoded sends obj, which must carry its apiVersion and kind. An error after the header is out cannot be reported.
func writeEncoded(w http.ResponseWriter, req *http.Request, f format, code int, obj runtime.Object) error {
	encoder := f.info.Serializer
	if f.info.PrettySerializer != nil && (f.pretty || forPeople(req)) {
		encoder = f.info.PrettySerializer
	}
	w.Header().Set("Content-Type", f.info.MediaType)
	w.Header().Set("Cache-Control", "no-cache, private")
	w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	w.WriteHeader(code)
	if req.Method == http.MethodHead {
		return nil
	}
	_ = encoder.Encode(obj, w)
	return nil
}

// forPeople tells whether a person will read the answer: a parameter says so, or the client is a tool for people.
func forPeople(req *http.Request) bool {
	if pretty, ok := req.URL.Query()["pretty"]; ok {
		wanted, _ := strconv.ParseBool(pretty[0])
		return wanted || pretty[0] == ""
	}
	agent := req.UserAgent()
	return strings.HasPrefix(agent, "curl") || strings.HasPrefix(agent, "Wget") || strings.HasPrefix(agent, "Mozilla/5.0")
}
