// Package native has the programs on the layers of this repository. The package clientgo explains each.
package native
