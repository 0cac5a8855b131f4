// Package clientgo has the programs on client-go. The comment of each is its text on docs/learn/tutorials.md.
package clientgo
