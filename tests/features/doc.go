// Package features keeps docs/use/features.md true: every test that the page names as proof is there, in the package that the page
// says, and every row names at least one.
//
// It keeps docs/results/performance.md honest, too: prose has no figures, and a table's row with figures stands word for word in a page of
// docs/results/benchmarks, all of which are generated.
package features
