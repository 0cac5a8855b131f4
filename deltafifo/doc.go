// Package deltafifo holds the change logs between the watch and the store.
package deltafifo
