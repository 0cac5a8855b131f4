// Package workqueue stands in for component-base's.
package workqueue
