package ondemand

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/cache"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

const (
	pageLifetime = 5 * time.Minute // how long the next page of a list can be asked for
	maxPages     = 256             // lists that are kept for that, and as many first pages
)

// Selection picks objects of a kind.
type Selection struct {
	Namespace string // empty: all
	Selector  labels.Selector
	Limit     int    // of objects in a page; 0 is all
	Continue  string // what the page before said
}

// Wants reports whether an object is picked.
func (s Selection) Wants(obj *Object) bool {
	return (s.Namespace == "" || s.Namespace == obj.Namespace) && s.Selector.Matches(labels.Set(obj.Labels))
}

// moment is a list that somebody reads page by page. It keeps a pointer an object, and objects that have changed since.
type moment struct {
	gvr              schema.GroupVersionResource
	namespace, label string
	version          string
	objects          []*Object
}

// firstPage finds the id of the moment whose first page was given for such a request.
type firstPage struct {
	gvr                       schema.GroupVersionResource
	namespace, label, version string
}

// Pages makes lists, and keeps those that somebody reads page by page: all pages show one moment.
type Pages struct{ kept *cache.LRUExpireCache }

// NewPages keeps nothing yet.
func NewPages() *Pages { return &Pages{cache.NewLRUExpireCache(2 * maxPages)} }

// List returns the version of what is selected, and a function that makes the list as JSON, in the order of names. The
// error is 410 if the list is not kept any more, and 400 if Continue is not of this list. A page's version stays the
// same only while its continue token can be used: who asks with that version gets the token some time more.
func (p *Pages) List(k *Kind, s Selection) (version string, list func() []byte, err error) {
	if s.Continue != "" {
		return p.next(k, s)
	}
	snapshot := k.Store().Snapshot() // objects and resourceVersion of one moment
	version = fmt.Sprintf("%x.%s", k.started.UnixNano(), snapshot.ResourceVersion())
	first, id := firstPage{k.GVR, s.Namespace, s.Selector.String(), version}, ""
	if s.Limit > 0 {
		id = p.firstID(first)
		version += "." + id
	}
	return version, func() []byte {
		m := &moment{k.GVR, s.Namespace, s.Selector.String(), snapshot.ResourceVersion(), nil}
		objects := iter.Seq2[listwatch.Key, *Object](snapshot.All())
		if s.Namespace != "" {
			objects, _ = snapshot.ByIndex(sharedinformer.NamespaceIndex, s.Namespace) // every informer has this index
		}
		for _, obj := range objects {
			if s.Wants(obj) {
				m.objects = append(m.objects, obj)
			}
		}
		slices.SortFunc(m.objects, func(a, b *Object) int {
			return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
		})
		if s.Limit > 0 {
			p.kept.Add(id, m, pageLifetime)
			p.kept.Add(first, id, pageLifetime)
		}
		return p.page(k, m, id, 0, s.Limit)
	}, nil
}

// firstID is the id of the moment that is kept for such a first page, from now on for pageLifetime, or a new id.
func (p *Pages) firstID(first firstPage) string {
	found, _ := p.kept.Get(first)
	id, _ := found.(string)
	m, alive := p.kept.Get(id)
	if !alive {
		return rand.Text()
	}
	p.kept.Add(id, m, pageLifetime)
	p.kept.Add(first, id, pageLifetime)
	return id
}

func (p *Pages) next(k *Kind, s Selection) (version string, list func() []byte, err error) {
	id, from, _ := strings.Cut(s.Continue, ".")
	start, err := strconv.ParseUint(from, 10, 31)
	kept, _ := p.kept.Get(id)
	m, found := kept.(*moment)
	if !found {
		return "", nil, apierrors.NewResourceExpired("continue: this list is not kept any more; begin without continue")
	}
	isSame := m.gvr == k.GVR && m.namespace == s.Namespace && m.label == s.Selector.String()
	if err != nil || !isSame || int(start) > len(m.objects) {
		return "", nil, apierrors.NewBadRequest("continue: the token of another list")
	}
	p.kept.Add(id, m, pageLifetime)
	version = fmt.Sprintf("%s.%d", s.Continue, s.Limit)
	return version, func() []byte { return p.page(k, m, id, int(start), s.Limit) }, nil
}

// page is a part of a moment, in the form that the API server's lists have.
func (p *Pages) page(k *Kind, m *moment, id string, start, limit int) []byte {
	end, about := len(m.objects), map[string]any{"resourceVersion": m.version}
	if limit > 0 && start+limit < end {
		end = start + limit
		about["continue"], about["remainingItemCount"] = fmt.Sprintf("%s.%d", id, end), len(m.objects)-end
	}
	metadata, _ := json.Marshal(about) // of strings and numbers, which cannot fail
	text := fmt.Appendf(nil, `{"apiVersion":%q,"kind":"%sList","metadata":%s,"items":[`,
		k.GVR.GroupVersion(), k.About.Kind, metadata)
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
