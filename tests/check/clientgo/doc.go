// Command clientgo runs client-go's own tests of tools/cache and util/workqueue on the facades. It compares what
// becomes of them with TESTS.md.
//
//	module cache ──load──▶ test files, what each identifier stands for
//	                  └─graph─▶ tests, with the unexported names that each needs
//	                       └─rewriter─▶ temporary folder: package …_test, import . "glasswatch/compat/…"
//	                            └─build, run─▶ outcome ──compare──▶ TESTS.md
//
// A test that needs an unexported name cannot run outside of client-go's own package. The command prints which name.
// All other tests are copied as they are, with the helpers that they need. They are compiled as a package of this
// module. It is a module of its own, because client-go's tests import what the main one does not need. Nothing of
// client-go's is kept.
//
// With -original the same tests run on client-go: that shows that nothing was lost in the copy.
package main
