// Package swapped imports a facade already.
package swapped

import "glasswatch/compat/workqueue"

func drain() {
	queue := workqueue.New(workqueue.Config[string]{Clock: 1}) // want "workqueue.New: different" "workqueue.Config.Clock"
	queue.Drain()                                              // want "workqueue.Base.Drain"
	queue.Add("")
	workqueue.Drained()
}
