// Package features keeps docs/features.md true: every test that the page names as proof is there, in the package that the page
// says, and every row names at least one.
package features
