// Package reflector keeps a sink equal to what a server lists.
package reflector
