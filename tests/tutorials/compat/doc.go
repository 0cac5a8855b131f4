// Package compat has the programs of clientgo with their imports changed. Its other files are made: go test ./tests/tutorials -update.
package compat
