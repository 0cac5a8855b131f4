// Package workqueue is a to-do list of items for workers.
package workqueue
