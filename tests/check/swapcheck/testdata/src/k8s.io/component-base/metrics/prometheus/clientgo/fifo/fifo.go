// Package fifo stands in for component-base's.
package fifo
