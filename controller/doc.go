// Package controller runs a reconcile function on a work queue.
package controller
