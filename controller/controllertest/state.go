package controllertest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// state is all values of all objects by their path, such as "Service default/web .spec.type", made comparable between plays.
type state map[string]string

// difference is a path whose value is not that of the play without faults.
type difference struct{ path, want, got string }

func (d difference) String() string { return fmt.Sprintf("%s: want %s, got %s", d.path, d.want, d.got) }

// nothing is the value of a path that is not there.
const nothing = "nothing"

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

// Of these fields two good plays have different values.
var passing = map[string]bool{
	"uid": true, "resourceVersion": true, "creationTimestamp": true, "managedFields": true, "generation": true, "clusterIP": true,
	"clusterIPs": true, "nodePort": true,
}

var uuid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// stateOf makes a state. UIDs and generated names are replaced by what they stand for, times by "a time". Objects with generated names are
// numbered in the order of their content.
func stateOf(objects []*unstructured.Unstructured, ignore map[string]string) state {
	c := comparer{stands: map[string]string{}}
	for _, obj := range objects {
		c.stands[string(obj.GetUID())] = "uid of " + c.identity(obj)
		if generated(obj) {
			c.stands[obj.GetName()] = obj.GetGenerateName() + "*"
		}
	}
	type comparable struct {
		id, text string
		content  any
	}
	var all []comparable
	for _, obj := range objects {
		if _, off := ignore[obj.GetKind()]; off {
			continue
		}
		content := c.clean(obj.Object, obj.GetGeneration())
		text, err := json.Marshal(content)
		if err != nil {
			panic(err) // it came as JSON
		}
		all = append(all, comparable{c.identity(obj), string(text), content})
	}
	slices.SortFunc(all, func(a, b comparable) int { return strings.Compare(a.id+a.text, b.id+b.text) })
	s, seen := state{}, map[string]int{}
	for _, obj := range all {
		id := obj.id
		if strings.HasSuffix(id, "*") {
			seen[id]++
			id += fmt.Sprint(seen[id])
		}
		s.spread(id, obj.content)
	}
	for prefix := range ignore {
		kind, field, _ := strings.Cut(prefix, " ")
		maps.DeleteFunc(s, func(path, _ string) bool {
			return field != "" && strings.HasPrefix(path, kind+" ") && strings.Contains(path+".", " "+field+".")
		})
	}
	return s
}

func generated(obj *unstructured.Unstructured) bool {
	prefix := obj.GetGenerateName()
	return prefix != "" && strings.HasPrefix(obj.GetName(), prefix)
}

type comparer struct {
	stands map[string]string // a UID or generated name, and what it stands for
}

func (c comparer) identity(obj *unstructured.Unstructured) string {
	name := obj.GetName()
	if generated(obj) {
		name = obj.GetGenerateName() + "*"
	}
	return obj.GetKind() + " " + strings.TrimPrefix(obj.GetNamespace()+"/"+name, "/")
}

func (c comparer) clean(v any, generation int64) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		_, isReference := v["apiVersion"] // to an owner, whose uid counts
		for key, value := range v {
			switch {
			case key == "uid" && isReference:
				out[key] = c.text(fmt.Sprint(value))
			case passing[key]:
			case key == "observedGeneration":
				out[key] = map[bool]string{true: "current", false: "behind"}[fmt.Sprint(value) == fmt.Sprint(generation)]
			default:
				out[key] = c.clean(value, generation)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = c.clean(value, generation)
		}
		return out
	case string:
		return c.text(v)
	}
	return v
}

func (c comparer) text(s string) string {
	if known, ok := c.stands[s]; ok {
		return known
	}
	if _, err := time.Parse(time.RFC3339, s); err == nil {
		return "a time"
	}
	return uuid.ReplaceAllStringFunc(s, func(uid string) string {
		if known, ok := c.stands[uid]; ok {
			return known
		}
		return "uid of what is gone"
	})
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
	default:
		s[path] = fmt.Sprint(v)
	}
}
