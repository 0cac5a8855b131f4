package cache

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
)

// handlerName is a handler's name in DoneCheckers and logs: its type, or for functions the place of their definition.
func handlerName(handler ResourceEventHandler) string {
	var name string
	switch h := handler.(type) {
	case nil:
	case ResourceEventHandlerFuncs:
		name = functionsName(h.AddFunc, h.UpdateFunc, h.DeleteFunc)
	case *ResourceEventHandlerFuncs:
		name = functionsName(h.AddFunc, h.UpdateFunc, h.DeleteFunc)
	default:
		t := reflect.TypeOf(handler)
		if t.Kind() == reflect.Pointer && !isNilPointer(handler) {
			t = t.Elem()
		}
		name = t.Name()
		if t.PkgPath() != "" {
			name = t.PkgPath() + "." + name
		}
	}
	if name == "" {
		name = fmt.Sprintf("%T", handler)
	}
	return name
}

// functionsName is the common part of the functions' names if they come from one place, else all their names.
func functionsName(functions ...any) string {
	var names, places []string
	for _, f := range functions {
		fn := runtime.FuncForPC(reflect.ValueOf(f).Pointer())
		if fn == nil {
			continue
		}
		name := fn.Name()
		names = append(names, name)
		if dot := strings.LastIndexByte(name, '.'); dot > 0 {
			name = name[:dot]
		}
		if !slices.Contains(places, name) {
			places = append(places, name)
		}
	}
	if len(places) == 1 {
		return places[0]
	}
	return strings.Join(names, "+")
}
