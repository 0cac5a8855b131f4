package controllertest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// state is all values of all objects by their path, such as "Service default/web .spec.type", made comparable between plays.
type state map[string]string

// difference is a path whose value is not that of the play without faults.
type difference struct{ path, want, got string }

func (d difference) String() string {
	switch {
	case d.want == anObject:
		return d.path + ": missing"
	case d.got == anObject:
		return d.path + ": should not be there"
	}
	return fmt.Sprintf("%s: want %s, got %s", d.path, d.want, d.got)
}

const (
	nothing  = "nothing"   // the value of a path that is not there: texts have quotes
	anObject = "an object" // the value of a path that is a whole object
)

// objects are those that have values.
func (s state) objects() map[string]bool {
	all := map[string]bool{}
	for path := range s {
		object, _, _ := strings.Cut(path, " .")
		all[object] = true
	}
	return all
}

// byObject makes one difference of those of an object that only one of the states has.
func byObject(all []difference, want, got state) (fewer []difference) {
	wanted, there := want.objects(), got.objects()
	told := map[string]bool{}
	for _, d := range all {
		path, _, _ := strings.Cut(d.path, " .")
		_, object, _ := strings.Cut(path, ": ") // after when it was
		switch {
		case told[object]:
			continue
		case !there[object]:
			d = difference{path, anObject, nothing}
			told[object] = true
		case !wanted[object]:
			d = difference{path, nothing, anObject}
			told[object] = true
		}
		fewer = append(fewer, d)
	}
	return fewer
}

func (s state) differences(got state) (ds []difference) {
	paths := maps.Clone(s)
	maps.Copy(paths, got)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		w, g := s.at(path), got.at(path)
		if w != g {
			ds = append(ds, difference{path, w, g})
		}
	}
	return ds
}

func (s state) at(path string) string {
	if value, ok := s[path]; ok {
		return value
	}
	return nothing
}

// Of these fields two good plays have different values. The paths have no indices; a kind stands before those that not all objects have.
var passing = map[string]bool{
	".metadata.uid": true, ".metadata.resourceVersion": true, ".metadata.generation": true, ".metadata.creationTimestamp": true,
	".metadata.managedFields": true, "Service .spec.clusterIPs": true, "Service .spec.ports.nodePort": true, "Service .spec.healthCheckNodePort": true,
}

var uuid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// comparer makes a state. UIDs and generated names are replaced by what they stand for, times by "a time". Objects with the same identity
// after that are numbered in the order of their content: "web-*~1".
type comparer struct {
	objects []*unstructured.Unstructured
	names   *strings.Replacer // in identities
	texts   *strings.Replacer // in values: names, and UIDs
	ignore  map[string]string
	matched map[string]bool // what of ignore was there
}

// newComparer compares objects. made has the names that the server made, also those of objects that are gone.
func newComparer(objects []*unstructured.Unstructured, made, ignore map[string]string) *comparer {
	c := &comparer{objects: objects, names: replacerOf(made), ignore: ignore, matched: map[string]bool{}}
	stands := map[string]string{}
	for name, stand := range made {
		stands[name] = stand + " (gone)"
	}
	for _, obj := range objects {
		if stand, ok := made[obj.GetName()]; ok {
			stands[obj.GetName()] = stand
		}
		if uid := string(obj.GetUID()); uid != "" {
			stands[uid] = "uid of " + c.identity(obj)
		}
	}
	c.texts = replacerOf(stands)
	return c
}

func (c *comparer) identity(obj *unstructured.Unstructured) string {
	return obj.GetKind() + " " + c.names.Replace(strings.TrimPrefix(obj.GetNamespace()+"/"+obj.GetName(), "/"))
}

func (c *comparer) state() state {
	type comparable struct {
		id, text string
		content  any
	}
	var all []comparable
	for _, obj := range c.objects {
		content, kept := c.clean(place{obj: obj}, obj.Object)
		if !kept {
			continue
		}
		text, err := json.Marshal(content)
		if err != nil {
			panic(err) // it came as JSON
		}
		all = append(all, comparable{c.identity(obj), string(text), content})
	}
	slices.SortFunc(all, func(a, b comparable) int { return cmp.Or(strings.Compare(a.id, b.id), strings.Compare(a.text, b.text)) })
	s, seen := state{}, map[string]int{}
	for _, obj := range all {
		id := obj.id
		if strings.Contains(id, "*") {
			seen[id]++
			id += fmt.Sprint("~", seen[id])
		}
		s.spread(id, obj.content)
	}
	return s
}

// place is where a value is.
type place struct {
	obj   *unstructured.Unstructured
	path  string // ".status.conditions[0].type"
	plain string // without indices
}

func (p place) field(name string) place {
	return place{p.obj, p.path + "." + name, p.plain + "." + name}
}

// isIgnored tells whether a value is kept out by Scenario.Ignore.
func (c *comparer) isIgnored(p place) bool {
	kind := p.obj.GetKind()
	for _, path := range []string{p.path, p.plain} {
		what := strings.TrimSuffix(kind+" "+path, " ")
		if _, ok := c.ignore[what]; ok {
			c.matched[what] = true
			return true
		}
	}
	return false
}

func (p place) passes(v any) bool {
	kind := p.obj.GetKind()
	switch {
	case kind == "Service" && p.plain == ".spec.clusterIP":
		return v != "None" // which says that the Service is headless
	case strings.HasSuffix(p.plain, "Ref.resourceVersion"):
		return true
	}
	return passing[p.plain] || passing[kind+" "+p.plain]
}

// clean returns a value as it is compared, and false if it is not.
func (c *comparer) clean(p place, v any) (cleaned any, kept bool) {
	if p.passes(v) || c.isIgnored(p) {
		return nil, false
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			cleaned, kept := c.clean(p.field(key), value)
			if kept {
				out[key] = cleaned
			}
		}
		return out, len(out) > 0 || len(v) == 0
	case []any:
		out := make([]any, len(v)) // nil stands for what is not compared
		for i, value := range v {
			out[i], _ = c.clean(place{p.obj, fmt.Sprintf("%s[%d]", p.path, i), p.plain}, value)
		}
		return out, true
	case string:
		return c.text(v), true
	}
	if strings.HasSuffix(p.plain, ".observedGeneration") {
		return map[bool]string{true: "current", false: "behind"}[fmt.Sprint(v) == fmt.Sprint(p.obj.GetGeneration())], true
	}
	return v, true
}

func (c *comparer) text(s string) string {
	if isTime(s) {
		return "a time"
	}
	s = c.texts.Replace(s)
	if len(s) < lenUUID { // most texts are, and the expression is slow
		return s
	}
	return uuid.ReplaceAllString(s, "uid of what is gone")
}

const lenUUID = 36

func isTime(s string) bool {
	if len(s) < len("2006-01-02T15:04:05Z") || s[4] != '-' {
		return false
	}
	_, err := time.Parse(time.RFC3339, s)
	return err == nil
}

// spread files the leaves of a value under their paths.
func (s state) spread(path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		separator := "."
		if !strings.Contains(path, " .") {
			separator = " ." // between the object and its fields
		}
		for key, value := range v {
			s.spread(path+separator+key, value)
		}
		if len(v) == 0 {
			s[path] = "{}"
		}
	case []any:
		for i, value := range v {
			s.spread(fmt.Sprintf("%s[%d]", path, i), value)
		}
		if len(v) == 0 {
			s[path] = "[]"
		}
	case string:
		s[path] = strconv.Quote(v) // "nothing" is not nothing, and "1" is not 1
	default:
		s[path] = fmt.Sprint(v)
	}
}
