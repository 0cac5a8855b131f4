// Package user uses names in the ways in which programs do.
package user

import (
	. "k8s.io/client-go/tools/cache"
	named "k8s.io/client-go/util/workqueue"
)

var store = NewStore(nil) // want `^cache.NewStore: different: words of NewStore$`

var (
	_ = NewSame()
	_ = NewUnlisted()
	_ Old // want "cache.Old: left out: words of Old"
	_ SameType
)

type (
	embeds   struct{ Old } // want "cache.Old: left out"
	embedded struct{ *embeds }
	function func(Old, Store) Old // want "cache.Old" "cache.Old"
)

var makes = named.New[string] // want "workqueue.New: different"

func fields() {
	o := Options{Name: "a", Clock: 1} // want "cache.Options.Clock: different"
	o.Name = "b"
	o.Clock++                         // want "cache.Options.Clock"
	_ = Options{"a", 1}               // want "cache.Options.Clock"
	_ = []Options{{"a", 1}, {}}       // want "cache.Options.Clock"
	_ = []*Options{{"a", 1}}          // want "cache.Options.Clock"
	_ = named.Config[int]{Clock: 1}   // want "workqueue.Config.Clock"
	_ = named.Config[int]{Queue: nil} // want "workqueue.Config.Queue"
	_ = named.Config[int]{"", nil, 1} // want "workqueue.Config.Queue" "workqueue.Config.Clock"
	_ = named.Config[int]{Name: ""}
	type Options struct{ Clock int }
	_ = Options{Clock: 1}
}

// Returned has a type of the package, so that other packages use it without its import.
func Returned() named.Limited[string] {
	return makes(named.Config[string]{})
}

func methods(limited named.Limited[string], base named.Base[int]) {
	limited.Drain()     // want "workqueue.Base.Drain: different"
	base.Drain()        // want "workqueue.Base.Drain"
	drain := base.Drain // want "workqueue.Base.Drain"
	drain()
	named.Base[int].Drain(base) // want "workqueue.Base.Drain"
	base.Add(1)
	limited.Forget("")

	concrete := named.Concrete[string]{}
	concrete.Drain()
	concrete.Forget("") // want "workqueue.Concrete.Forget: different"

	var embedding struct{ named.Limited[int] }
	embedding.Drain() // want "workqueue.Base.Drain"

	type Drainer interface{ Drain() }
	Drainer(base).Drain()
}
