// Package clientgo stands in for component-base's.
package clientgo
