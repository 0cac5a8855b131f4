package main

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"glasswatch/cmd/internal/demo"
)

func convert(_ context.Context, d *demo.Demo) {
	d.Step("From a map to a Go type, and back: runtime.DefaultUnstructuredConverter")
	converter := runtime.DefaultUnstructuredConverter
	object := map[string]any{"apiVersion": "demo.example.com/v1", "kind": "Garden", "metadata": map[string]any{"name": "eden"},
		"spec": map[string]any{"trees": int64(2), "snakes": int64(1)}}
	show := func(what string, value any) { d.Saw("%-6s %s", what, demo.Must(json.Marshal(value))) }
	show("map", object)
	garden := &Garden{}
	demo.Check(converter.FromUnstructured(object, garden))
	d.Saw("%-6s %T %s, %+v", "there", garden, garden.Name, garden.Spec)
	show("back", demo.Must(converter.ToUnstructured(garden)))
	d.Why("the snakes are lost, for the Go type has no such field; soil is there and empty, for its tag has no omitempty. " +
		"Who writes such an object back deletes what others wrote: patch, or keep the map")

	d.Saw("asked to be strict: %v", converter.FromUnstructuredWithValidation(object, &Garden{}, true))
	object["spec"] = map[string]any{"trees": "many"}
	d.Saw("another type: %v", converter.FromUnstructured(object, &Garden{}))
	var decoded map[string]any
	demo.Check(json.Unmarshal([]byte(`{"trees":2}`), &decoded))
	numbers := func(of map[string]any) string { return fmt.Sprintf("%T", of["trees"]) }
	d.Saw("a number of encoding/json: %s; of the converter: %s", numbers(decoded),
		numbers(demo.Must(converter.ToUnstructured(garden))["spec"].(map[string]any)))
	panics := func() (cause any) {
		defer func() { cause = recover() }()
		return runtime.DeepCopyJSON(map[string]any{"trees": 2})
	}()
	d.Saw("DeepCopy of a map with an int: %v", panics)
	d.Why("maps of objects hold int64, float64, string, bool, maps and slices of these, and nothing else")
}
