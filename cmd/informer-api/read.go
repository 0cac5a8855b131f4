package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"glasswatch/cmd/internal/guard"
	"glasswatch/cmd/internal/ondemand"
	"glasswatch/cmd/internal/passon"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

const (
	coreGroup    = "core"          // for the group without a name: a path cannot have an empty part
	pageLifetime = 5 * time.Minute // how long the next page of a list can be asked for
	// versionPatience is how long a read waits for minResourceVersion.
	versionPatience = 2 * time.Second
)

// query is what a caller asks of a kind.
type query struct {
	namespace, name, continues, minVersion string
	selector                               labels.Selector
	limit                                  int
	watch                                  bool
}

// resourceOf checks the parts of a path before they become parts of another.
func resourceOf(resource, group, version string) (schema.GroupVersionResource, error) {
	for _, part := range []string{resource, group, version} {
		if len(validation.IsDNS1123Subdomain(part)) > 0 {
			return schema.GroupVersionResource{}, apierrors.NewBadRequest(fmt.Sprintf("want /{resource}/{group}/{version}, got %q", part))
		}
	}
	if group == coreGroup {
		group = ""
	}
	return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}, nil
}

// parseQuery refuses what it does not know: a misspelt selector must not answer with everything.
func parseQuery(values url.Values) (query, error) {
	q := query{selector: labels.Everything()}
	for name, all := range values {
		value, err := all[0], error(nil)
		switch name {
		case "namespace":
			q.namespace = value
		case "name":
			q.name = value
		case "labelSelector":
			q.selector, err = labels.Parse(value)
		case "limit":
			var limit uint64
			limit, err = strconv.ParseUint(value, 10, 31)
			q.limit = int(limit)
		case "continue":
			q.continues = value
		case "minResourceVersion":
			q.minVersion = value
			_, err = strconv.ParseUint(value, 10, 64)
		case "watch":
			q.watch, err = strconv.ParseBool(value)
		default:
			err = errors.New("no such parameter")
		}
		if err != nil {
			return q, apierrors.NewBadRequest(name + ": " + err.Error())
		}
	}
	if pages := q.limit > 0 || q.continues != ""; pages && q.watch || q.name != "" && (pages || q.watch || !q.selector.Empty()) {
		return q, apierrors.NewBadRequest("a name goes with a namespace only; a watch has neither a name nor pages")
	}
	return q, nil
}

func (q query) wants(obj *ondemand.Object) bool {
	return (q.namespace == "" || q.namespace == obj.GetNamespace()) && q.selector.Matches(labels.Set(obj.GetLabels()))
}

// rights are what a caller needs for that.
func (q query) rights(gvr schema.GroupVersionResource) []guard.Right {
	r := guard.Right{Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource, Namespace: q.namespace, Name: q.name, Verb: "list"}
	switch all := r; {
	case q.name != "":
		r.Verb = "get"
	case q.watch:
		r.Verb = "watch"
		return []guard.Right{all, r}
	}
	return []guard.Right{r}
}

// read answers from an informer. Rights come first: who may not read a kind must not start its informer.
func (s *server) read(w http.ResponseWriter, r *http.Request, gvr schema.GroupVersionResource) {
	q, err := parseQuery(r.URL.Query())
	if err == nil {
		err = s.guard.Admit(r.Context(), guard.Bearer(r), q.rights(gvr)...)
	}
	if err == nil && !s.secrets && passon.IsSecret(gvr.Group, gvr.Resource, "") {
		err = passon.ErrSecrets
	}
	if err != nil {
		fail(w, err)
		return
	}
	k, err := s.kinds.Enter(r.Context(), gvr)
	if err != nil {
		fail(w, err)
		return
	}
	defer s.kinds.Leave(k)
	if err := s.ready(r.Context(), k, q); err != nil {
		fail(w, err)
		return
	}
	if k.LastError() != nil {
		w.Header().Set("Warning", `110 informer-api "the API server cannot be reached, and this may be old"`)
	}
	switch {
	case q.watch:
		s.watch(w, r, k, q)
	case q.name != "":
		s.one(w, r, k, q)
	case q.continues != "":
		s.nextPage(w, r, k, q)
	default:
		s.list(w, r, k, q)
	}
}

// ready waits until the cache can answer q.
func (s *server) ready(ctx context.Context, k *ondemand.Kind, q query) error {
	if !k.About.Namespaced && q.namespace != "" || k.About.Namespaced && q.name != "" && q.namespace == "" {
		return apierrors.NewBadRequest(fmt.Sprintf("namespace: are %s namespaced? %t", k.About.Name, k.About.Namespaced))
	}
	if err := s.kinds.Ready(ctx, k); err != nil || q.minVersion == "" || q.minVersion == "0" {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	if err := k.WaitForResourceVersion(ctx, q.minVersion); err != nil {
		return apierrors.NewTimeoutError(err.Error(), 1)
	}
	return nil
}

func (s *server) one(w http.ResponseWriter, r *http.Request, k *ondemand.Kind, q query) {
	obj, ok := k.Store().GetByKey(listwatch.Key{Namespace: q.namespace, Name: q.name})
	if !ok {
		fail(w, apierrors.NewNotFound(k.GVR.GroupResource(), q.name))
		return
	}
	tagged(w, r, string(obj.GetUID())+"."+obj.GetResourceVersion(), obj.JSON)
}

// moment is a list that somebody reads page by page. It keeps a pointer an object, and objects that have changed since.
type moment struct {
	gvr              schema.GroupVersionResource
	namespace, label string
	version          string
	objects          []*ondemand.Object
}

func (s *server) list(w http.ResponseWriter, r *http.Request, k *ondemand.Kind, q query) {
	snapshot := k.Store().Snapshot() // objects and resourceVersion of one moment
	tagged(w, r, fmt.Sprintf("%x.%s", k.Started.UnixNano(), snapshot.ResourceVersion()), func() []byte {
		m := &moment{k.GVR, q.namespace, q.selector.String(), snapshot.ResourceVersion(), nil}
		objects := iter.Seq2[listwatch.Key, *ondemand.Object](snapshot.All())
		if q.namespace != "" {
			objects, _ = snapshot.ByIndex(sharedinformer.NamespaceIndex, q.namespace) // every informer has this index
		}
		for _, obj := range objects {
			if q.wants(obj) {
				m.objects = append(m.objects, obj)
			}
		}
		slices.SortFunc(m.objects, func(a, b *ondemand.Object) int {
			return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
		})
		return s.page(k, m, rand.Text(), 0, q.limit)
	})
}

// nextPage shows the moment of the first one, whatever has happened since.
func (s *server) nextPage(w http.ResponseWriter, r *http.Request, k *ondemand.Kind, q query) {
	id, from, _ := strings.Cut(q.continues, ".")
	start, err := strconv.ParseUint(from, 10, 31)
	kept, _ := s.pages.Get(id)
	m, found := kept.(*moment)
	switch {
	case !found:
		fail(w, apierrors.NewResourceExpired("continue: this list is not kept any more; begin anew, without continue"))
	case err != nil || m.gvr != k.GVR || m.namespace != q.namespace || m.label != q.selector.String() || int(start) > len(m.objects):
		fail(w, apierrors.NewBadRequest("continue: the token of another list"))
	default:
		tagged(w, r, fmt.Sprintf("%s.%d", q.continues, q.limit), func() []byte { return s.page(k, m, id, int(start), q.limit) })
	}
}

// page is a part of a moment, in the form that the API server's lists have. limit 0 is the rest.
func (s *server) page(k *ondemand.Kind, m *moment, id string, start, limit int) []byte {
	end, about := len(m.objects), map[string]any{"resourceVersion": m.version}
	if limit > 0 && start+limit < end {
		end = start + limit
		about["continue"], about["remainingItemCount"] = fmt.Sprintf("%s.%d", id, end), len(m.objects)-end
		s.pages.Add(id, m, pageLifetime)
	}
	metadata, _ := json.Marshal(about) // of strings and numbers, which cannot fail
	text := fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"metadata":%s,"items":[`, k.GVR.GroupVersion(), k.About.Kind+"List", metadata)
	size := 0
	for _, obj := range m.objects[start:end] {
		size += len(obj.JSON()) + 1
	}
	text = slices.Grow(text, size+2)
	for i, obj := range m.objects[start:end] {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, obj.JSON()...)
	}
	return append(text, "]}"...)
}

// tagged answers 304, without making the data, if the caller has this version.
func tagged(w http.ResponseWriter, r *http.Request, version string, data func() []byte) {
	w.Header().Set("ETag", `"`+version+`"`)
	w.Header().Set("Cache-Control", "private, no-cache") // keep it, and ask each time whether it is still so
	if slices.Contains(strings.Split(r.Header.Get("If-None-Match"), ", "), `"`+version+`"`) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	// Not by encoding/json, which would look at each byte of what the API server has sent.
	w.Header().Set("Content-Type", "application/json")
	for _, part := range [][]byte{fmt.Appendf(nil, `{"code":%d,"message":"success","data":`, success), data(), []byte("}\n")} {
		_, _ = w.Write(part) // the only error is that the caller has gone
	}
}
