package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/validation"

	"glasswatch/cmd/internal/guard"
	"glasswatch/cmd/internal/ondemand"
	"glasswatch/cmd/internal/passon"
	"glasswatch/listwatch"
)

const (
	coreGroup       = "core"          // for the group without a name: a path cannot have an empty part
	versionPatience = 2 * time.Second // how long a read waits for minResourceVersion
)

// query is what a caller asks of a kind.
type query struct {
	ondemand.Selection
	name, minVersion string
	watch            bool
}

// resourceOf checks the parts of a path before they become parts of another.
func resourceOf(resource, group, version string) (gvr schema.GroupVersionResource, err error) {
	for _, part := range []string{resource, group, version} {
		if len(validation.IsDNS1123Subdomain(part)) > 0 {
			return gvr, apierrors.NewBadRequest(fmt.Sprintf("%q is no part of a kind's path", part))
		}
	}
	if group == coreGroup {
		group = ""
	}
	return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}, nil
}

// parameters splits a raw query. It refuses what url.URL.Query drops in silence, and a name that comes twice.
func parameters(raw string) (map[string]string, error) {
	values := map[string]string{}
	for part := range strings.SplitSeq(raw, "&") {
		if part == "" {
			continue
		}
		parsed, err := url.ParseQuery(part)
		if err != nil {
			name, _, _ := strings.Cut(part, "=")
			return nil, apierrors.NewBadRequest(name + ": " + err.Error())
		}
		for name := range parsed { // one: the part has no separator
			if _, twice := values[name]; twice {
				return nil, apierrors.NewBadRequest(name + ": comes more than once")
			}
			values[name] = parsed.Get(name)
		}
	}
	return values, nil
}

// parseQuery refuses what it does not know: a misspelt selector must not answer with everything.
func parseQuery(raw string) (query, error) {
	q := query{Selection: ondemand.Selection{Selector: labels.Everything()}}
	values, err := parameters(raw)
	if err != nil {
		return q, err
	}
	for name, value := range values {
		var err error
		switch name {
		case "namespace":
			q.Namespace = value
		case "name":
			q.name = value
		case "labelSelector":
			q.Selector, err = labels.Parse(value)
		case "limit":
			var limit uint64
			limit, err = strconv.ParseUint(value, 10, 31)
			q.Limit = int(limit)
		case "continue":
			q.Continue = value
		case "minResourceVersion":
			if q.minVersion = value; value != "0" { // which means any, and is no version
				_, err = resourceversion.CompareResourceVersion(value, value)
			}
		case "watch":
			q.watch, err = strconv.ParseBool(value)
		default:
			err = errors.New("no such parameter")
		}
		if err != nil {
			return q, apierrors.NewBadRequest(name + ": " + err.Error())
		}
	}
	pages := q.Limit > 0 || q.Continue != ""
	if pages && q.watch || q.name != "" && (pages || q.watch || !q.Selector.Empty()) {
		return q, apierrors.NewBadRequest("a name goes with a namespace only; a watch has neither a name nor pages")
	}
	return q, nil
}

// rights are what a caller needs for that.
func (q query) rights(gvr schema.GroupVersionResource) []guard.Right {
	r := guard.Right{Verb: "list", Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource,
		Namespace: q.Namespace, Name: q.name}
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
	q, err := parseQuery(r.URL.RawQuery)
	if err == nil {
		err = s.guard.Admit(r.Context(), guard.Bearer(r), q.rights(gvr)...)
	}
	if err == nil && !s.secrets && passon.IsSecret(gvr.Group, gvr.Resource, "") {
		err = passon.ErrSecrets
	}
	var k *ondemand.Kind
	if err == nil {
		k, err = s.kinds.Enter(r.Context(), gvr)
	}
	if err != nil {
		fail(w, err)
		return
	}
	defer s.kinds.Leave(k)
	w = passon.Stream(w, r)
	if err := ready(r.Context(), k, q); err != nil {
		fail(w, err)
		return
	}
	if k.LastError() != nil {
		w.Header().Set("Warning", `110 informer-api "the API server cannot be reached, and this may be old"`)
	}
	switch {
	case q.watch:
		k.Watch(r.Context(), w, q.Selection, func(ctx context.Context) error {
			return s.guard.Admit(ctx, guard.Bearer(r), q.rights(gvr)...)
		}, problem)
	case q.name != "":
		obj, ok := k.Store().GetByKey(listwatch.Key{Namespace: q.Namespace, Name: q.name})
		if !ok {
			fail(w, apierrors.NewNotFound(gvr.GroupResource(), q.name))
			return
		}
		tagged(w, r, string(obj.UID)+"."+obj.ResourceVersion, obj.JSON)
	default:
		version, list, err := s.pages.List(k, q.Selection)
		if err != nil {
			fail(w, err)
			return
		}
		tagged(w, r, version, list)
	}
}

// ready waits until the cache can answer q.
func ready(ctx context.Context, k *ondemand.Kind, q query) error {
	if !k.About.Namespaced && q.Namespace != "" || k.About.Namespaced && q.name != "" && q.Namespace == "" {
		return apierrors.NewBadRequest(fmt.Sprintf("namespace: %s namespaced: %t", k.About.Name, k.About.Namespaced))
	}
	if err := k.Ready(ctx); err != nil || q.minVersion == "" || q.minVersion == "0" {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	if err := k.WaitForResourceVersion(ctx, q.minVersion); err != nil {
		return apierrors.NewTimeoutError(err.Error(), 1)
	}
	return nil
}

// tagged answers 304, without making the data, if the caller has this version.
func tagged(w http.ResponseWriter, r *http.Request, version string, data func() []byte) {
	w.Header().Set("ETag", `"`+version+`"`)
	w.Header().Set("Cache-Control", "private, no-cache") // keep it, and ask each time whether it is still so
	if anyTag(r.Header.Values("If-None-Match"), version) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	// Not by encoding/json, which would look at each byte of what the API server has sent.
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"code":%d,"message":"success","data":`, success)
	_, _ = w.Write(data()) // the only error is that the caller has gone
	fmt.Fprintln(w, "}")
}

// anyTag is the comparison of If-None-Match in RFC 9110, 13.1.2: a list of tags, weak or not, or * for any.
func anyTag(lines []string, version string) bool {
	rest := strings.TrimSpace(strings.Join(lines, ","))
	if rest == "*" {
		return true
	}
	for {
		rest = strings.TrimPrefix(strings.TrimLeft(rest, " \t,"), "W/")
		quoted, opened := strings.CutPrefix(rest, `"`)
		tag, after, closed := strings.Cut(quoted, `"`) // a tag may have commas in it
		if !opened || !closed {
			return false
		}
		rest = strings.TrimLeft(after, " \t")
		if rest != "" && rest[0] != ',' {
			return false
		}
		if tag == version {
			return true
		}
	}
}
