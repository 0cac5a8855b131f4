// Package indirect imports neither package.
package indirect

import "user"

func drain() {
	user.Returned().Drain() // want "workqueue.Base.Drain"
	user.Returned().Add("")
}
